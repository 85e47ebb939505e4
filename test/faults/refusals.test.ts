import { expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Asked, Verdict } from '../kit/fault-proxy.ts';
import { until } from '../kit/until.ts';
import { change, deploy, faultFree, IMAGE, remove, untilGone, untilSettled } from './life.ts';
import type { World } from './oracle.ts';
import { converged, inLanes, report, faultStage, type Outcome } from './fault-stage.ts';

/* One request in twenty fails in one of an API server's ways, during the whole lives of several deployments. */
const SHARE = 0.05;

const status = (code: number, reason: string, headers: Record<string, string> = {}): Verdict => ({
  status: code,
  headers,
  body: JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason,
    message: `planted ${code}`,
    code,
  }),
});
const WAYS: Verdict[] = [
  status(409, 'Conflict'),
  status(429, 'TooManyRequests', { 'retry-after': '1' }),
  status(500, 'InternalError'),
  status(503, 'ServiceUnavailable'),
  status(504, 'Timeout'),
  'reset',
  'lost',
  { delay: 2000 },
];

/** Makes the same faults in every run, by a generator with a seed (mulberry32). */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A conflict is the answer to a change. A read never gets one. */
const fits = (way: Verdict, { verb }: Asked): boolean =>
  !(typeof way === 'object' && 'status' in way && way.status === 409) ||
  !['get', 'list', 'watch'].includes(verb);

async function life(seed: number, clean: { ready: World; gone: World }): Promise<Outcome[]> {
  const given = await faultStage(`refused-${seed}`);
  const roll = dice(seed);
  let planted = 0;
  const harm = (): void => {
    given.proxy.rules = {
      request: (asked) => {
        if (roll() >= SHARE) return 'pass';
        const ways = WAYS.filter((way) => fits(way, asked));
        planted += 1;
        return ways[Math.floor(roll() * ways.length)] ?? 'pass';
      },
    };
  };
  harm();
  const operator = await given.operator();
  await deploy(given);
  await untilSettled(given);
  await change(IMAGE, 'agent:2')(given);
  await untilSettled(given);
  given.proxy.rules = {};
  const ready = await converged(`life ${seed}: created and updated`, given, clean.ready);
  harm();
  await remove(given);
  await untilGone(given);
  given.proxy.rules = {};
  const gone = await converged(
    `life ${seed}: deleted, ${planted} faults planted`,
    given,
    clean.gone,
  );
  await operator.stop();
  await given.stop();
  return [ready, gone];
}

test('a life in which one request in twenty fails comes to the same objects', async () => {
  const update = (given: Parameters<typeof untilSettled>[0]) =>
    change(IMAGE, 'agent:2')(given).then(() => untilSettled(given));
  const [ready, gone] = await Promise.all([
    faultFree(update),
    faultFree(update, (given) => remove(given).then(() => untilGone(given))),
  ]);
  const outcomes = (
    await inLanes(
      Array.from({ length: 12 }, (_, index) => index + 1),
      (seed) => life(seed, { ready, gone }),
      4,
    )
  ).flat();
  report(outcomes);
  expect(
    outcomes.flatMap(({ scenario, faults }) => faults.map((fault) => `${scenario}: ${fault}`)),
  ).toEqual([]);
});

test('a creation that is refused because a quota was counted twice at a time is tried again', async () => {
  const clean = await faultFree();
  const given = await faultStage('quota');
  const refused = new Set<string>();
  given.proxy.rules = {
    request: ({ verb, resource, name = '' }) => {
      const id = `${resource}/${name}`;
      if (verb !== 'create' || resource === 'leases' || refused.has(id)) return 'pass';
      refused.add(id);
      return status(409, 'Conflict');
    },
  };
  const operator = await given.operator();
  await deploy(given);
  await until('every kind of creation was refused once', () => refused.size >= 3);
  const outcome = await converged('each creation refused once', given, clean);
  report([outcome]);
  expect(outcome.faults).toEqual([]);
  expect(await given.kube.listAll(kinds.revision, { namespace: given.namespace })).toHaveLength(1);
  await operator.stop();
  await given.stop();
});
