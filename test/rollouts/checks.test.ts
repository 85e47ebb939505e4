import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call } from '../../dev/run/control-plane.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import type { Revision } from '../../src/schema/platform/deployment/revision.ts';
import { deployCounting, executions, type CountingAgent } from '../kit/counting-agent.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { feed, type Feeder } from './feeder.ts';

/*
 * New revisions of a deployment under load, in real pods. Each gets half of the new threads, and is compared with the
 * one that serves. Those that are worse are given up, and those that are not serve.
 */

const system = inject('system');
const cluster = { ...system, api: { url: system.controlPlane, key: system.key } };
const kubectl = kubectlFor(system);
const name = `tried-${Date.now().toString(36).slice(-5)}`;

/** Seconds of one comparison. */
const WINDOW = 15;
/** Seconds within which one that is worse is given up: two comparisons, and the reports in between. */
const LIMIT = 2 * WINDOW + 10;
/** Milliseconds between two runs, and those that each of its two steps takes. */
const [EVERY, STEP] = [100, 500];
/** Equal revisions that are tried out one after the other. */
const EQUAL = Number(process.env.GX_EQUAL_REVISIONS ?? 20);

const ROLLOUT = {
  steps: [{ share: 50, seconds: 5 }],
  check_seconds: WINDOW,
  gate: { assistant: 'counting', input: { round: 'gate', milliseconds: 1 }, seconds: 120 },
  checks: [
    { figure: 'errors', worse_by: 5 },
    { figure: 'p95', worse_by: 50 },
    { figure: 'lost', worse_by: 5 },
    { figure: 'stuck', worse_by: 20 },
  ],
};

let agent: CountingAgent;
let feeder: Feeder;

beforeAll(async () => {
  agent = await deployCounting(cluster, name, {
    rollout: ROLLOUT,
    resources: { queue_memory_mb: 300, queue_memory_limit_mb: 500 },
    secrets: { FAULT: 'none', N_JOBS_PER_WORKER: '20' },
  });
  feeder = feed({ client: agent.client, every: EVERY, milliseconds: STEP });
});
afterAll(async () => {
  await feeder.stop();
  await agent.remove();
});

const shown = (): Promise<Deployment> =>
  call<Deployment>(cluster.api, 'GET', `/v2/deployments/${agent.id}`);
const revisionOf = (id: string): Promise<Revision> =>
  call<Revision>(cluster.api, 'GET', `/v2/deployments/${agent.id}/revisions/${id}`);

/** Asks for a revision with a fault, or with none. Returns its id. */
async function ask(fault: string): Promise<string> {
  const secrets = [
    { name: 'FAULT', value: fault },
    { name: 'N_JOBS_PER_WORKER', value: '20' },
    { name: 'AT', value: String(Date.now()) },
  ];
  const { latest_revision_id: id } = await call<Deployment>(
    cluster.api,
    'PATCH',
    `/v2/deployments/${agent.id}`,
    { secrets },
  );
  return id!;
}

type Tried = { revision: Revision; seconds: number };

/** Waits until a revision has got its share, and then until it serves or was given up. */
async function tried(id: string): Promise<Tried> {
  await until(
    'it has its share',
    async () => (await shown()).rollout?.candidate?.share === 50,
    300,
  );
  const at = performance.now();
  const revision = await until(
    'it serves, or is given up',
    async () => {
      const found = await revisionOf(id);
      return (found.status === 'DEPLOYED' || found.status === 'DEPLOY_FAILED') && found;
    },
    300,
  );
  const seconds = (performance.now() - at) / 1000;
  process.stdout.write(
    `${revision.status} after ${seconds.toFixed(0)} s: ${revision.status_message ?? ''}\n`,
  );
  return { revision, seconds };
}

test.each([
  ['fails a fifth of its runs', 'errors', LIMIT, /errors: [\d.]+ % of \d+ runs/],
  ['takes three times as long', 'slow', LIMIT, /p95: /],
  // Its worker has to die first. It loses its runs, and those that wait for another worker take long.
  ['leaks until it is killed', 'memory', LIMIT + WINDOW, /lost: |stuck: |memory/],
])(
  'a revision that %s is given up after two comparisons, and the one that serves stays as it was',
  async (_, fault, limit, why) => {
    const before = await shown();
    const api = `${name}-00001-api`;
    const generation = async (): Promise<string> =>
      kubectl('get', 'deployment', api, '-n', 'gx-agents', '-o', 'jsonpath={.metadata.generation}');
    const stable = await generation();
    const { revision, seconds } = await tried(await ask(fault));
    expect(revision).toMatchObject({
      status: 'DEPLOY_FAILED',
      status_message: expect.stringMatching(why) as string,
    });
    expect(seconds).toBeLessThan(limit);
    const after = await shown();
    expect(after.active_revision_id).toBe(before.active_revision_id);
    expect(after.rollout?.aborted).toMatchObject({
      revision_id: revision.id,
      message: expect.stringMatching(why) as string,
    });
    expect(await generation()).toBe(stable);
  },
);

test('equal revisions all serve, and each of their runs is executed once', async () => {
  await wait(5000);
  const from = feeder.made.length;
  const ends: string[] = [];
  for (let at = 0; at < EQUAL; at += 1) ends.push((await tried(await ask('none'))).revision.status);
  expect(ends).toEqual(Array.from({ length: EQUAL }, () => 'DEPLOYED'));
  const rounds = feeder.made.slice(from).map(({ round }) => round);
  await until(
    'all of them are over',
    async () => {
      const found = await executions(agent.client);
      return rounds.every((round) => found[round]?.includes('second'));
    },
    600,
  );
  const found = await executions(agent.client);
  expect(rounds.filter((round) => found[round]?.join() !== 'first,second')).toEqual([]);
  expect(feeder.failures).toEqual([]);
});

test('a revision that never ends a run is given up', async () => {
  const { revision, seconds } = await tried(await ask('stuck'));
  expect(revision).toMatchObject({
    status: 'DEPLOY_FAILED',
    status_message: expect.stringMatching(/stuck: /) as string,
  });
  expect(seconds).toBeLessThan(LIMIT + 20);
});
