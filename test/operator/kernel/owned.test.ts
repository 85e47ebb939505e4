import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import {
  hasAllValues,
  diffObjects,
  isAsIntended,
  addIntentHash,
} from '../../../src/operator/kernel/owned.ts';
import {
  formatCores,
  parseQuantity,
  isSameQuantity,
} from '../../../src/operator/kernel/quantity.ts';

const service = (spec: object, name = 'a'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'n' },
  spec,
});
const intent = service({ selector: { app: 'a' }, ports: [{ name: 'http', port: 80 }] });

test.each<[string, unknown, unknown, boolean]>([
  ['defaults that the server added', { a: 1, b: 2 }, { a: 1 }, true],
  ['another value', { a: 2 }, { a: 1 }, false],
  ['a field that is gone', {}, { a: 1 }, false],
  ['an empty object that is not stored', {}, { a: {} }, true],
  ['a false that is not stored', {}, { a: false }, false],
  ['a quantity written another way', { cpu: '1' }, { cpu: '1000m' }, true],
  ['another quantity', { cpu: '2' }, { cpu: '1000m' }, false],
  [
    'a foreign entry in a named list',
    { l: [{ name: 'x' }, { name: 'a', v: 1, d: 2 }] },
    { l: [{ name: 'a', v: 1 }] },
    true,
  ],
  [
    'a changed entry in a named list',
    { l: [{ name: 'a', v: 2 }] },
    { l: [{ name: 'a', v: 1 }] },
    false,
  ],
  ['another order of words', { l: ['b', 'a'] }, { l: ['a', 'b'] }, false],
])('%s', (_, live, wanted, expected) => {
  expect(hasAllValues(live, wanted)).toBe(expected);
});

test('a live object with what others added is as intended', () => {
  const live = addIntentHash(intent);
  const grown = { ...live, spec: { ...(live.spec as object), clusterIP: '10.0.0.1' }, status: {} };
  expect(isAsIntended(intent, grown)).toBe(true);
  expect(diffObjects([intent], [grown])).toEqual({ apply: [], remove: [] });
});

test('a field that is no longer intended is taken back, though the live object still covers all that is', () => {
  const live = addIntentHash(service({ ...(intent.spec as object), type: 'NodePort' }));
  expect(diffObjects([intent], [live]).apply).toEqual([intent]);
});

test('what is not desired any more is removed, unless it is already going', () => {
  const old = addIntentHash(service({}, 'old'));
  const going = {
    ...addIntentHash(service({}, 'going')),
    metadata: { name: 'going', deletionTimestamp: 'x' },
  };
  expect(diffObjects([intent], [addIntentHash(intent), old, going]).remove).toEqual([old]);
});

test('quantities', () => {
  expect([
    parseQuantity('500m'),
    parseQuantity('1Gi'),
    parseQuantity('2'),
    parseQuantity('much'),
  ]).toEqual([0.5, 2 ** 30, 2, undefined]);
  expect(isSameQuantity('0.5', '500m')).toBe(true);
  expect([formatCores(1), formatCores(0.25)]).toEqual(['1', '250m']);
});
