import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { NotFound } from '../../../src/errors.ts';
import { Cache } from '../../../src/kube/cache.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kind, Kube } from '../../../src/kube/kube.ts';
import { Reflector } from '../../../src/kube/watch.ts';
import { serveHealth } from '../../../src/operator/kernel/health.ts';
import { OperatorMetrics } from '../../../src/operator/kernel/metrics.ts';
import { describeDeadWatches } from '../../../src/operator/watches.ts';
import { silentLog } from '../../kit/log.ts';

/* One watch of which nothing is heard: among many that live, it shows in the metrics and in /readyz. */

const { now } = performance;
const running: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const one of running.splice(0)) await one.stop();
});

/** An API server that reports changes of Secrets alone, has no Ingresses, and ends watches of Services at once. */
const kube = {
  list: async ({ kind }: Kind) => {
    if (kind === 'Ingress') throw new NotFound('there is no such kind');
    return { items: [], resourceVersion: '1' };
  },
  watch: async function* ({ kind }: Kind, _: object, signal: AbortSignal) {
    if (kind === 'Service') return;
    while (!signal.aborted) {
      await wait(20, undefined, { signal }).catch(() => undefined);
      if (kind === 'Secret')
        yield { type: 'BOOKMARK', object: { metadata: { resourceVersion: '2' } } };
    }
  },
} as unknown as Kube;

function watch(kind: Kind, namespace?: string): Reflector {
  const reflector = new Reflector({
    kube,
    kind,
    cache: new Cache(),
    namespace,
    optional: true,
    log: silentLog(),
  });
  running.push(reflector);
  reflector.start();
  return reflector;
}

const later = (seconds: number): unknown =>
  vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + seconds * 1000);

test('a watch is dead once nothing was heard of it for a minute, however often it begins again', async () => {
  const watches = [
    watch(kinds.secret),
    watch(kinds.ingress),
    watch(kinds.pod, 'team'),
    watch(kinds.service),
  ];
  await Promise.all(watches.map(({ synced }) => synced));
  // The first watches begin now, before time goes on.
  await wait(50);
  later(50);
  expect(describeDeadWatches(watches)).toBeUndefined();
  later(70);
  await expect.poll(() => watches[0]!.state.silent).toBeLessThan(1000);
  expect(watches[1]!.state.silent).toBeUndefined();
  expect(describeDeadWatches(watches)).toBe(
    'nothing was heard of Pod in team for 70 s, Service for 70 s',
  );
});

test('it has an age of its own in the metrics, and the process is not ready', async () => {
  const watches = [watch(kinds.secret), watch(kinds.pod, 'team'), watch(kinds.pod, 'other')];
  await Promise.all(watches.map(({ synced }) => synced));
  const metrics = new OperatorMetrics();
  metrics.watchAges(() => watches.map(({ state }) => state));
  const missing = (): string | undefined => describeDeadWatches(watches);
  const server = await serveHealth({
    host: '127.0.0.1',
    port: 0,
    log: silentLog(),
    metrics,
    missing,
    isOverdue: () => false,
  });
  running.push({ stop: () => server.stop(0) });
  const url = `http://127.0.0.1:${server.port}`;
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  later(90);
  const answer = await fetch(`${url}/readyz`);
  expect(answer.status).toBe(503);
  expect(await answer.text()).toContain('Pod in team for 9');
  const age = (labels: string, text: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.includes(labels))
        ?.split(' ')
        .at(-1),
    );
  const text = await (await fetch(`${url}/metrics`)).text();
  for (const namespace of ['team', 'other'])
    expect(
      age(`watch_last_event_age_seconds{kind="Pod",namespace="${namespace}",selector=""}`, text),
    ).toBeGreaterThan(80);
  await expect
    .poll(async () =>
      age(
        'watch_last_event_age_seconds{kind="Secret"',
        await (await fetch(`${url}/metrics`)).text(),
      ),
    )
    .toBeLessThan(2);
});
