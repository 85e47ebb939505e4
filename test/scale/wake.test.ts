import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, inject, test } from 'vitest';
import type { Condition } from '../../src/schema/platform/objects/conditions.ts';
import { deployCounting, type CountingAgent } from '../kit/counting-agent.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

/*
 * How long the first answer of a deployment that sleeps takes, in real pods, and who gets one when many ask at once.
 * The figures are printed with what happened when. The limits have room for a busy machine.
 */

const system = inject('system');
const cluster = { ...system, api: { url: system.controlPlane, key: system.key } };
const kubectl = kubectlFor(system);
const NAMESPACE = 'gx-agents';
const ROUNDS = 3;
/** Seconds in which the slowest of the cases below is to answer, with a lot of room. */
const PATIENCE = 120;

/** The limits of the chart's profiles. Requests are smaller, so that all fits on a node of two cores. */
const asked = { cpu: 0.1, memory_mb: 256, db_cpu: 0.1, db_memory_mb: 256 };
const profiles = {
  small: asked,
  standard: {
    ...asked,
    cpu_limit: 2,
    memory_limit_mb: 2048,
    db_cpu_limit: 2,
    db_memory_limit_mb: 4096,
  },
};

type Status = { asleepSince?: string; conditions?: Condition[] };
type Sleeper = CountingAgent & { name: string; sleeps: () => Promise<void> };
type Line = { time: string; msg: string; name?: string };
type PodState = {
  metadata: { name: string; creationTimestamp: string };
  status: {
    conditions: { type: string; lastTransitionTime: string }[];
    containerStatuses: { name: string; state: { running?: { startedAt: string } } }[];
  };
};

const status = async (name: string): Promise<Status> =>
  (await kubectl.json<{ status?: Status }>('get', 'gxd', name, '-n', NAMESPACE)).status ?? {};

const podsOf = async (name: string, components = 'api,queue'): Promise<PodState[]> => {
  const selector = `gx.dev/deployment=${name},gx.dev/component in (${components})`;
  return (await kubectl.json<{ items: PodState[] }>('get', 'pods', '-n', NAMESPACE, '-l', selector))
    .items;
};

async function sleeper(
  stem: string,
  resources: object,
  { database = false, afterSeconds = 5 } = {},
): Promise<Sleeper> {
  const name = `${stem}-${Date.now().toString(36).slice(-5)}`;
  const agent = await deployCounting(cluster, name, { resources: { min_scale: 0, ...resources } });
  await kubectl(
    'patch',
    'gxd',
    name,
    '-n',
    NAMESPACE,
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { sleep: { afterSeconds, database } } }),
  );
  const isAsleep = async (): Promise<boolean> => {
    const pods = await podsOf(name, database ? 'api,queue,database' : 'api,queue');
    return pods.length === 0 && (await status(name)).asleepSince !== undefined;
  };
  return {
    ...agent,
    name,
    sleeps: () => until('it sleeps and its pods are gone', isAsleep, 240).then(() => undefined),
  };
}

const ask = ({ url, key }: CountingAgent): Promise<Response> =>
  fetch(`${url}/assistants/search`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: '{}',
  });

const linesOf = (text: string): Line[] =>
  text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));

/** Returns what happened when on the way, in seconds since the request was sent. Kubernetes tells whole seconds. */
async function timeline(name: string, began: number): Promise<Record<string, number>> {
  const since = (time: string | undefined): number =>
    time === undefined ? NaN : Math.round((Date.parse(time) - began) / 100) / 10;
  const [pod] = await podsOf(name, 'api');
  const [database] = await podsOf(name, 'database');
  const of = (one: PodState | undefined, type: string): string | undefined =>
    one?.status.conditions.find((condition) => condition.type === type)?.lastTransitionTime;
  const agent = linesOf(await kubectl('logs', pod?.metadata.name ?? '', '-n', NAMESPACE));
  const gateway = linesOf(
    await kubectl(
      'logs',
      '-n',
      'gx-system',
      '-l',
      'app.kubernetes.io/component=gateway',
      '--tail=50',
    ),
  );
  return {
    asked: Math.max(...gateway.filter((line) => line.name === name).map(({ time }) => since(time))),
    podMade: since(pod?.metadata.creationTimestamp),
    started: since(pod?.status.containerStatuses[0]?.state.running?.startedAt),
    firstLine: since(agent[0]?.time),
    serves: since(agent.find(({ msg }) => msg === 'agent server ready')?.time),
    podReady: since(of(pod, 'Ready')),
    databaseMade: since(database?.metadata.creationTimestamp),
    databaseReady: since(of(database, 'Ready')),
  };
}

describe('the first request of a deployment that sleeps is answered', () => {
  test.each([
    ['standard, database awake', 'standard', false],
    ['standard, database asleep', 'standard', true],
    ['small, database awake', 'small', false],
    ['small, database asleep', 'small', true],
  ] as const)('at %s', async (title, profile, isDatabaseAsleep) => {
    const agent = await sleeper('wake', profiles[profile], { database: isDatabaseAsleep });
    for (let round = 1; round <= ROUNDS; round += 1) {
      await agent.sleeps();
      const began = Date.now();
      const answer = await ask(agent);
      const seconds = (Date.now() - began) / 1000;
      const happened = JSON.stringify(await timeline(agent.name, began));
      process.stdout.write(
        `wake ${title}: first answer after ${seconds.toFixed(1)} s, ${happened}\n`,
      );
      expect(answer.status).toBe(200);
      expect(seconds).toBeLessThan(PATIENCE);
    }
    await agent.remove();
  });
});

describe('two hundred requests at once', () => {
  /** Asks again for as long as the answer says when to come back; returns how often. */
  const persistent = async (agent: CountingAgent): Promise<number> => {
    for (let refused = 0; ; refused += 1) {
      const answer = await ask(agent);
      await answer.arrayBuffer();
      if (answer.status === 200) return refused;
      expect(answer.status).toBe(503);
      const seconds = Number(answer.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(0);
      await wait(seconds * 1000);
    }
  };

  test('wake it once, and all are answered, also if a gateway that holds some of them is stopped', async () => {
    const agent = await sleeper('crowd', profiles.small, { afterSeconds: 60 });
    await agent.sleeps();
    const asking = Promise.all(Array.from({ length: 200 }, () => persistent(agent)));
    await until('it wakes', async () => (await status(agent.name)).asleepSince === undefined);
    expect((await podsOf(agent.name)).length).toBeLessThanOrEqual(2);
    const gateways = await kubectl(
      'get',
      'pods',
      '-n',
      'gx-system',
      '-l',
      'app.kubernetes.io/component=gateway',
      '-o',
      'name',
    );
    await kubectl(
      'delete',
      '-n',
      'gx-system',
      gateways.trim().split('\n')[0] ?? '',
      '--wait=false',
    );
    const refused = await asking;
    process.stdout.write(
      `crowd: 200 of 200 answered, ${refused.filter((count) => count > 0).length} of them after a 503\n`,
    );
    type Event = { reason: string; count?: number; involvedObject: { name: string } };
    const { items } = await kubectl.json<{ items: Event[] }>('get', 'events', '-n', NAMESPACE);
    const woken = items.filter(
      ({ reason, involvedObject }) =>
        reason === 'WokenByRequest' && involvedObject.name === agent.name,
    );
    expect(woken.map(({ count = 1 }) => count)).toEqual([1]);
    // One pod of each kind.
    expect(await podsOf(agent.name)).toHaveLength(2);
    await agent.remove();
  });
});
