import { expect, test } from 'vitest';
import { Cache, type Change } from '../../../src/kube/cache.ts';
import type { Faulty } from '../../../src/kube/faulty-objects.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { DEPLOYMENT, FINALIZER } from '../../../src/schema/platform/objects/labels.ts';

const object = (
  name: string,
  version: number,
  more: object = {},
  metadata: object = {},
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'n', resourceVersion: String(version), ...metadata },
  ...more,
});
const nested = (levels: number): unknown =>
  JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
const many = (count: number, prefix = 'k'): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 'x'.repeat(40)]),
  );

const packed = (): Cache =>
  new Cache(
    { of: ({ spec }) => [(spec as { of: string }).of] },
    { packed: true, recent: 10, specLimit: 10_000 },
  );

test('an object that is nested too deep is held with its part cut, and recursion over it is safe', () => {
  const cache = packed();
  const told: Faulty[] = [];
  cache.faults.addFaultListener((faulty) => told.push(faulty));
  expect(cache.addIfNewer(object('deep', 1, { spec: { of: 'x', inner: nested(9000) } }))).toBe(
    true,
  );
  expect(cache.listByIndex('of', 'x').map(({ metadata }) => metadata.name)).toEqual(['deep']);
  expect(JSON.stringify(cache.get('n/deep')).length).toBeLessThan(1000);
  expect(told).toEqual([
    {
      object: object('deep', 1),
      fault: { reason: 'TooDeep', message: 'spec: it is nested more than 64 levels deep.' },
    },
  ]);
});

test('an object that is too large keeps little memory, and is found by the keys of the platform all the same', () => {
  const cache = packed();
  const labels = { ...many(20_000, 'a'), [DEPLOYMENT]: 'chat' };
  const finalizers = [...Object.keys(many(500, 'f.example/')), FINALIZER];
  cache.addIfNewer(object('wide', 1, { spec: { of: 'x' } }, { labels, finalizers, uid: 'u' }));
  const held = cache.get('n/wide');
  expect(cache.faults.findFault('n/wide')?.reason).toBe('TooLarge');
  expect(JSON.stringify(held).length).toBeLessThan(50_000);
  expect([
    held?.metadata.uid,
    held?.metadata.labels?.[DEPLOYMENT],
    held?.metadata.finalizers?.includes(FINALIZER),
  ]).toEqual(['u', 'chat', true]);
  expect(held?.spec).toEqual({ of: 'x' });
});

test('the limit of a spec is the installation’s', () => {
  const cache = new Cache({}, { specLimit: 300_000 });
  cache.addIfNewer(object('large', 1, { spec: many(5000) }));
  expect(cache.faults.findFault('n/large')).toBeUndefined();
  cache.addIfNewer(object('larger', 1, { spec: many(9000) }));
  expect(cache.faults.findFault('n/larger')?.message).toMatch(
    /^spec: it has some \d+ characters of JSON, and 300000 are allowed\.$/,
  );
});

test('an object that an index fails on is set aside, and what was held of it stays', () => {
  const cache = packed();
  cache.addIfNewer(object('a', 1, { spec: { of: 'x' } }));
  expect(cache.addIfNewer(object('a', 2))).toBe(false);
  expect(cache.faults.findFault('n/a')?.reason).toBe('Unreadable');
  expect(cache.listByIndex('of', 'x').map(({ metadata }) => metadata.resourceVersion)).toEqual([
    '1',
  ]);
  cache.addIfNewer(object('a', 3, { spec: { of: 'y' } }));
  expect([
    cache.faults.listAll(),
    cache.listKeysByIndex('of', 'x'),
    cache.listKeysByIndex('of', 'y'),
  ]).toEqual([[], [], ['n/a']]);
});

test('a listener that fails keeps no change from the others', () => {
  const cache = packed();
  const told: Change[] = [];
  cache.addChangeListener(({ after }) => {
    if (after?.metadata.name === 'odd') throw new TypeError('it is odd');
  });
  cache.addChangeListener((change) => told.push(change));
  cache.addIfNewer(object('odd', 1, { spec: { of: 'x' } }));
  expect(told).toHaveLength(1);
  expect(cache.faults.findFault('n/odd')).toEqual({
    reason: 'Unreadable',
    message: "It can't be read: it is odd",
  });
});

test('a fault ends with its object, and is told once', () => {
  const cache = packed();
  const told: Faulty[] = [];
  cache.faults.addFaultListener((faulty) => told.push(faulty));
  for (const version of [1, 2, 3])
    cache.addIfNewer(object('deep', version, { spec: { of: 'x', inner: nested(100) } }));
  expect(told).toHaveLength(1);
  cache.addIfNewer(object('unread', 1));
  cache.removeOthers(new Set(['n/deep']), 10n, () => true);
  expect(cache.faults.listKeys()).toEqual(['n/deep']);
  cache.remove('n/deep', 11n);
  expect(cache.faults.listKeys()).toEqual([]);
});

test('a field named __proto__ is no way out of an object', () => {
  const cache = packed();
  const spec = JSON.parse(
    `{"of": "x", "__proto__": {"polluted": true}, "long": ${JSON.stringify(many(1000))}}`,
  ) as object;
  cache.addIfNewer(object('p', 1, { spec }));
  expect(Object.keys(cache.get('n/p')?.spec ?? {})).toEqual(['of', 'long']);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});
