import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { exercise, sceneOf } from './fault.ts';
import { FAULTS } from './faults.ts';
import { watchPods, type Watcher } from './watcher.ts';

/* Each fault is planted in real pods, found by an alert of the chart, and cured by the commands of its page. */

const system = inject('system');
let watcher: Watcher;

beforeAll(async () => {
  watcher = await watchPods(system);
});
afterAll(() => watcher.stop());

test.each(FAULTS)('$name is found by $found.alert, and cured by $page.file', async (fault) => {
  await exercise(fault, sceneOf(system, watcher));
  await expect.poll(() => watcher.value('sum(up{job="gx-operator"})'), { timeout: 60_000 }).toBe(1);
});
