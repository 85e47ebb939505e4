import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { until } from '../kit/until.ts';
import { deployed, newName, removed } from './agents.ts';
import { sceneOf } from './fault.ts';
import { watchPods, type Watcher } from './watcher.ts';

/* A cluster in which nothing is wrong. */

const system = inject('system');
const MINUTES = Number(process.env['QUIET_MINUTES'] ?? 30);
const name = newName('quiet');
let watcher: Watcher;

beforeAll(async () => {
  watcher = await watchPods(system);
  await deployed(sceneOf(system, watcher), name);
});
afterAll(async () => {
  await removed(sceneOf(system, watcher), name);
  await watcher.stop();
});

test(`fires no alert in ${MINUTES} minutes, although none waits for longer than ten seconds`, async () => {
  const fired = async (): Promise<string[]> =>
    (await watcher.firing()).map(({ labels }) => JSON.stringify(labels));
  await until('the alerts of the start are over', async () => (await fired()).length === 0);
  const all = new Set<string>();
  const started = performance.now();
  while (performance.now() < started + MINUTES * 60_000) {
    await wait(1000);
    for (const alert of (await fired()).filter((one) => !all.has(one))) {
      process.stdout.write(
        `after ${((performance.now() - started) / 1000).toFixed(0)} s: ${alert}\n`,
      );
      all.add(alert);
    }
  }
  expect([...all]).toEqual([]);
  await expect.poll(() => watcher.value('count(up) - sum(up)'), { timeout: 60_000 }).toBe(0);
});
