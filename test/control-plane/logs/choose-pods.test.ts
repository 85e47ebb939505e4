import { expect, test } from 'vitest';
import { choosePods } from '../../../src/control-plane/logs/choose-pods.ts';
import { buildManagedLabels, type Component } from '../../../src/schema/platform/objects/labels.ts';

const podsOf = (component: Component, revision: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${component}-${revision}-${String(at).padStart(2, '0')}`,
      creationTimestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString(),
      labels: buildManagedLabels('chat', component, `chat-0000${revision}`),
    },
  }));

test('twenty api pods leave places to the queue, and an old revision that drains leaves some to the new one', () => {
  const pods = [...podsOf('api', '1', 20), ...podsOf('queue', '1', 6), ...podsOf('api', '2', 4)];
  const chosen = choosePods(pods, 20).map(({ metadata }) => metadata.name);
  expect(chosen).toHaveLength(20);
  expect(chosen.slice(0, 3)).toEqual(['api-2-03', 'api-1-19', 'queue-1-05']);
  for (const [group, count] of [
    ['api-2', 4],
    ['queue-1', 6],
    ['api-1', 10],
  ] as const)
    expect(chosen.filter((name) => name.startsWith(group))).toHaveLength(count);
  expect(chosen).not.toContain('api-1-00');
});

test('fewer pods than places are all read', () => {
  expect(choosePods(podsOf('api', '1', 3), 20)).toHaveLength(3);
  expect(choosePods([], 20)).toEqual([]);
});

test('of revisions that pushes made, the tenth is newer than the ninth', () => {
  const pods = [...podsOf('api', '1-9', 1), ...podsOf('api', '1-10', 1), ...podsOf('api', '1', 1)];
  expect(choosePods(pods, 20).map(({ metadata }) => metadata.name)).toEqual([
    'api-1-10-00',
    'api-1-9-00',
    'api-1-00',
  ]);
});
