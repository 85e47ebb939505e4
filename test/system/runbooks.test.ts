import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { findAndCure, sceneOf, type Fault, type Planted } from '../runbooks/fault.ts';
import { CHEAP } from '../runbooks/faults.ts';
import { watchPods, type Watcher } from '../runbooks/watcher.ts';

/* The cheap faults of `make test-runbooks`: an alert finds them, and the commands of its page cure them. */

const system = inject('system');
let watcher: Watcher;

beforeAll(async () => {
  watcher = await watchPods(system);
});
afterAll(() => watcher.stop());

test('each of them is found, and cured, beside the others', async () => {
  const scene = sceneOf(system, watcher);
  const planted: [Fault, Planted][] = [];
  for (const fault of CHEAP) planted.push([fault, await fault.plant(scene)]);
  await Promise.all(planted.map(([fault, one]) => findAndCure(fault, one, scene)));
  expect(await watcher.firing('GxNoLeader')).toEqual([]);
});
