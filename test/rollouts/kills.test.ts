import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call } from '../../dev/run/control-plane.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import type { Revision } from '../../src/schema/platform/deployment/revision.ts';
import { deployCounting, marks, type CountingAgent, type Mark } from '../kit/counting-agent.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { killContainers, killPods } from './container-kills.ts';
import { feed, type Feeder, type Made } from './feeder.ts';

/*
 * Two revisions are tried out under load, one of which serves in the end and one is given up. At each of their steps
 * the operator, the gateway, the database and the workers of both revisions are killed with SIGKILL.
 */

const system = inject('system');
const cluster = { ...system, api: { url: system.controlPlane, key: system.key } };
const kubectl = kubectlFor(system);
const name = `killed-${Date.now().toString(36).slice(-5)}`;
const SHARES = [10, 50, 90];
/** Milliseconds between two runs, and those that each of its two steps takes. */
const [EVERY, STEP] = [150, 700];

let agent: CountingAgent;
let feeder: Feeder;
let kills = 0;

beforeAll(async () => {
  agent = await deployCounting(cluster, name, {
    rollout: { steps: SHARES.map((share) => ({ share, pause: true })) },
    resources: { queue_memory_mb: 300, queue_memory_limit_mb: 500 },
    secrets: { N_JOBS_PER_WORKER: '20' },
  });
  feeder = feed({ client: agent.client, every: EVERY, milliseconds: STEP });
});
afterAll(() => agent.remove());

const shown = (): Promise<Deployment> =>
  call<Deployment>(cluster.api, 'GET', `/v2/deployments/${agent.id}`);
const change = (body: object): Promise<Deployment> =>
  call<Deployment>(cluster.api, 'PATCH', `/v2/deployments/${agent.id}`, body);
const revisionOf = (id: string): Promise<Revision> =>
  call<Revision>(cluster.api, 'GET', `/v2/deployments/${agent.id}/revisions/${id}`);

/** Asks for a revision, and returns its id and its name once it has its first share. */
async function begun(number: number): Promise<{ id: string; called: string }> {
  const { latest_revision_id: id } = await change({
    secrets: [{ name: 'AT', value: String(number) }],
  });
  await shared(SHARES[0]!);
  return { id: id!, called: `${name}-${String(number).padStart(5, '0')}` };
}

const shared = (share: number): Promise<unknown> =>
  until(`it has ${share} %`, async () => (await shown()).rollout?.candidate?.share === share, 300);

async function dies(victim: Promise<void>): Promise<void> {
  await victim;
  kills += 1;
  // Some runs end before the next death, so that none loses three workers.
  await wait(3 * STEP);
}

const workersDie = (revision: string): Promise<void> =>
  dies(killPods(kubectl, 'gx-agents', `${revision}-queue-`));

/** Kills all but the candidate's workers, one after the other, each once the one before is back. */
async function othersDie(stable: string): Promise<void> {
  await dies(killPods(kubectl, 'gx-system', 'gx-operator-'));
  await dies(killPods(kubectl, 'gx-system', 'gx-gateway-'));
  await dies(killContainers(kubectl, 'gx-agents', `${name}-db-0`));
  await workersDie(stable);
}

test('a revision gets through all of its steps and serves, whatever dies at each of them', async () => {
  const { id, called } = await begun(2);
  for (const share of SHARES) {
    if (share !== SHARES[0]) await change({ rollout: { share } });
    await shared(share);
    await workersDie(called);
    await othersDie(`${name}-00001`);
  }
  await change({ rollout: { promote: true } });
  await dies(killPods(kubectl, 'gx-system', 'gx-operator-'));
  await until('it serves', async () => (await shown()).active_revision_id === id, 300);
  expect((await revisionOf(id)).status).toBe('DEPLOYED');
});

test('a revision that is given up is given up once, whatever dies then', async () => {
  const before = await shown();
  const { id, called } = await begun(3);
  await change({ rollout: { share: 50 } });
  await shared(50);
  await workersDie(called);
  await change({ rollout: { abort: true } });
  await othersDie(`${name}-00002`);
  await until('it is given up', async () => (await revisionOf(id)).status === 'DEPLOY_FAILED', 300);
  expect(await shown()).toMatchObject({
    active_revision_id: before.active_revision_id,
    rollout: { candidate: null },
  });
});

type Row = { run_id: string; status: string; revision: string };

async function rows(): Promise<Row[]> {
  const sql =
    'select json_agg(json_build_object($$run_id$$, run_id, $$status$$, status, $$revision$$, revision)) from gx.run';
  const psql = ['psql', '-XAt', '-U', 'postgres', '-c', sql, 'gx'];
  const found = await kubectl(
    'exec',
    `${name}-db-0`,
    '-n',
    'gx-agents',
    '-c',
    'postgres',
    '--',
    ...psql,
  );
  return JSON.parse(found) as Row[];
}

/** Returns how many checkpoints a thread has, and the revisions that they name. */
async function checkpointsOf({ thread }: Made): Promise<{ revisions: Set<string>; count: number }> {
  const history = await agent.client.threads.getHistory<{ by?: string[] }>(thread, { limit: 100 });
  return {
    revisions: new Set(history.flatMap(({ values }) => values.by ?? [])),
    count: history.length,
  };
}

test('no run is lost, and none has a step that another revision executed', async () => {
  await feeder.stop();
  const ended = await until(
    'all of them are over',
    async () => {
      const found = await rows();
      return found.every(({ status }) => !['pending', 'running'].includes(status)) && found;
    },
    300,
  );
  const runs = new Map(ended.map((row) => [row.run_id, row]));
  expect(
    feeder.made
      .filter(({ run }) => runs.get(run)?.status !== 'success')
      .map(({ run }) => runs.get(run) ?? run),
  ).toEqual([]);
  const executed = Map.groupBy(await marks(agent.client), ({ round }: Mark) => round);
  const wrong: unknown[] = [];
  let checkpoints = 0;
  for (const made of feeder.made) {
    const own = [runs.get(made.run)!.revision];
    const { revisions, count } = await checkpointsOf(made);
    checkpoints += count;
    const marked = executed.get(made.round) ?? [];
    const seen = [[...revisions], [...new Set(marked.map(({ revision }) => revision))]];
    const nodes = new Set(marked.map(({ node }) => node));
    if (JSON.stringify(seen) !== JSON.stringify([own, own]) || nodes.size !== 2)
      wrong.push({ ...made, own, seen, nodes: [...nodes] });
  }
  expect(wrong).toEqual([]);
  const of = Object.entries(Object.groupBy(feeder.made, ({ run }) => runs.get(run)!.revision)).map(
    ([revision, own]) => `${own!.length} of ${revision}`,
  );
  process.stdout.write(
    `${kills} times something was killed; ${feeder.made.length} runs (${of.join(', ')}) with ${checkpoints} checkpoints, ` +
      `each run by one revision; ${feeder.failures.length} requests met a database or a pod that was away\n`,
  );
  expect(of).toHaveLength(3);
}, 900_000);
