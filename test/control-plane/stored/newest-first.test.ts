import { expect, test } from 'vitest';
import { NewestFirst, compareNewestFirst } from '../../../src/control-plane/stored/newest-first.ts';
import type { DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';

const made = (number: number, second: number): DeploymentResource =>
  ({
    metadata: {
      name: `n${number % 40}`,
      namespace: `s${number % 3}`,
      creationTimestamp: `2026-01-01T00:00:0${second}Z`,
    },
  }) as never;

test('whatever comes, changes, is made again or goes: the order is that of a sort', () => {
  const newest = new NewestFirst();
  const held = new Map<string, DeploymentResource>();
  for (let step = 0; step < 2000; step += 1) {
    const number = (step * 7919) % 120;
    const { namespace, name } = made(number, 0).metadata;
    const old = held.get(`${namespace}/${name}`);
    const now = step % 5 === 0 ? undefined : made(number, (step * 31) % 10);
    if (now === undefined) held.delete(`${namespace}/${name}`);
    else held.set(`${namespace}/${name}`, now);
    newest.applyChange(old, now);
  }
  expect(held.size).toBeGreaterThan(50);
  expect(newest.all).toEqual([...held.values()].toSorted(compareNewestFirst));
});
