import { expect, test } from 'vitest';
import { Cache, buildObjectKey, type Change } from '../../../src/kube/cache.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';

const object = (name: string, version: number, label = 'x'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'n', resourceVersion: String(version), labels: { owner: label } },
});
const cache = (): Cache => new Cache({ owner: ({ metadata }) => [metadata.labels?.owner ?? ''] });

test('an older object never replaces a newer one', () => {
  const held = cache();
  expect([
    held.addIfNewer(object('a', 5)),
    held.addIfNewer(object('a', 4)),
    held.addIfNewer(object('a', 5)),
  ]).toEqual([true, false, false]);
});

test('a late answer to a write brings no deleted object back', () => {
  const held = cache();
  held.addIfNewer(object('a', 5));
  held.remove('n/a', 7n);
  expect(held.addIfNewer(object('a', 6))).toBe(false);
  expect(held.addIfNewer(object('a', 8))).toBe(true);
});

test('a deletion that is older than what is held is ignored', () => {
  const held = cache();
  held.addIfNewer(object('a', 9));
  expect(held.remove('n/a', 7n)).toBe(false);
  expect(held.size).toBe(1);
});

test('the end of a list forgets what is gone in its scope, and keeps what was made after it', () => {
  const held = cache();
  held.addIfNewer(object('gone', 1));
  held.addIfNewer(object('ours', 20));
  held.addIfNewer(object('new', 5), 'list');
  expect(held.removeOthers(new Set(['n/new']), 10n, (key) => key.startsWith('n/'))).toEqual([
    'n/gone',
  ]);
  expect(held.list().map(({ metadata }) => metadata.name)).toEqual(['ours', 'new']);
  expect(held.removeOthers(new Set(), 30n, (key) => key.startsWith('other/'))).toEqual([]);
});

test('of packed objects everybody who reads gets a copy, by key, by index and as a listener', () => {
  const held = new Cache(
    { owner: ({ metadata }) => [metadata.labels?.owner ?? ''] },
    { packed: true },
  );
  const told: Change[] = [];
  held.addChangeListener((change) => told.push(change));
  held.addIfNewer(object('a', 1, 'x'));
  const read = held.get('n/a') as KubeObject;
  read.metadata.labels = { owner: 'spoilt' };
  expect(held.listByIndex('owner', 'x')).toEqual([object('a', 1, 'x')]);
  held.addIfNewer(object('a', 2, 'y'));
  expect(told[1]?.before).toEqual(object('a', 1, 'x'));
  expect([held.listKeysByIndex('owner', 'x'), held.listKeysByIndex('owner', 'y')]).toEqual([
    [],
    ['n/a'],
  ]);
});

test('indexes follow changes', () => {
  const held = cache();
  held.addIfNewer(object('a', 1, 'x'));
  held.addIfNewer(object('a', 2, 'y'));
  expect([held.listByIndex('owner', 'x').length, held.listByIndex('owner', 'y').length]).toEqual([
    0, 1,
  ]);
  held.remove('n/a', 3n);
  expect(held.listByIndex('owner', 'y')).toEqual([]);
});

test('listeners learn what was and what is, and how it became known', () => {
  const held = cache();
  const told: Change[] = [];
  held.addChangeListener((change) => told.push(change));
  held.addIfNewer(object('a', 1), 'list');
  held.addIfNewer(object('a', 2), 'answer');
  held.remove('n/a', 3n);
  expect(
    told.map(({ via, before, after }) => [via, before !== undefined, after !== undefined]),
  ).toEqual([
    ['list', false, true],
    ['answer', true, true],
    ['watch', true, false],
  ]);
  expect(buildObjectKey({ name: 'a' })).toBe('a');
});

test('of packed objects the one that was read last is not parsed again, until it changes or another is read', () => {
  const held = new Cache({}, { packed: true, recent: 1 });
  held.addIfNewer(object('a', 1), 'list');
  held.addIfNewer(object('b', 1), 'list');
  const first = held.get('n/a');
  expect(held.get('n/a')).toBe(first);
  held.addIfNewer(object('a', 2, 'y'), 'list');
  expect(held.get('n/a')).toEqual(object('a', 2, 'y'));
  expect(held.get('n/b')).toEqual(object('b', 1));
  expect(held.get('n/a')).toEqual(object('a', 2, 'y'));
  held.remove('n/a', 3n);
  expect(held.get('n/a')).toBeUndefined();
});

test('of packed objects the last ones stay parsed, as they were last written, and no deleted one', () => {
  const held = new Cache({}, { packed: true, recent: 2 });
  for (const name of ['a', 'b', 'c']) held.addIfNewer(object(name, 1));
  expect(held.get('n/c')).toBe(held.get('n/c'));
  held.addIfNewer(object('c', 2, 'y'));
  expect(held.get('n/c')).toEqual(object('c', 2, 'y'));
  expect(held.list()).toEqual([object('a', 1), object('b', 1), object('c', 2, 'y')]);
  held.remove('n/c', 3n);
  expect(held.get('n/c')).toBeUndefined();
});

test('our own write is an answer, also where a watch tells of it first; what another wrote meanwhile is news all the same', async () => {
  const held = cache();
  const told: [string, bigint][] = [];
  held.addChangeListener(({ via, after }) =>
    told.push([via, BigInt(after?.metadata.resourceVersion ?? 0)]),
  );
  await held.write('n/a', async () => {
    held.addIfNewer(object('a', 1));
    held.addIfNewer(object('b', 2));
    return object('a', 1);
  });
  await held.write('n/a', async () => object('a', 3));
  expect(told.splice(0)).toEqual([
    ['answer', 1n],
    ['watch', 2n],
    ['answer', 3n],
  ]);
  const another = held.write('n/a', async () => {
    held.addIfNewer(object('a', 4));
    throw new Error('refused');
  });
  await expect(another).rejects.toThrow('refused');
  held.addIfNewer(object('a', 5));
  expect(told).toEqual([
    ['answer', 4n],
    ['watch', 4n],
    ['watch', 5n],
  ]);
});
