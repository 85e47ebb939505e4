import { expect, test } from 'vitest';
import * as conditions from '../../src/schema/conditions.ts';

test('condition types are words of their own, as Kubernetes writes them', () => {
  const types = Object.values(conditions).filter((value) => typeof value === 'string');
  expect(types.filter((type) => !/^[A-Z][A-Za-z]*$/.test(type))).toEqual([]);
  expect(new Set(types).size).toBe(types.length);
  expect(types).toEqual(expect.arrayContaining(['Ready', 'Reconciling', 'Stalled']));
});

test('a list of conditions has each type once, so that two writers never overwrite each other', () => {
  expect(conditions.Conditions).toMatchObject({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });
});
