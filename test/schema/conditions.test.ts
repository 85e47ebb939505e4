import { expect, test } from 'vitest';
import * as conditions from '../../src/schema/platform/objects/conditions.ts';

test('a list of conditions has each type once, so that two writers never overwrite each other', () => {
  expect(conditions.Conditions).toMatchObject({
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  });
});
