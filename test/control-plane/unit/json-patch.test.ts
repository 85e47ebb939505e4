import { expect, test } from 'vitest';
import { buildJsonPatch } from '../../../src/control-plane/json-patch.ts';

test('a field with a name that every object inherits is a field like others', () => {
  const after = JSON.parse(
    '{"constructor": "x", "__proto__": "y", "toString": {"a": 1}}',
  ) as object;
  expect(buildJsonPatch({}, after, '/labels')).toEqual([
    { op: 'add', path: '/labels/constructor', value: 'x' },
    { op: 'add', path: '/labels/__proto__', value: 'y' },
    { op: 'add', path: '/labels/toString', value: { a: 1 } },
  ]);
  expect(buildJsonPatch(after, {}, '/labels').map(({ op }) => op)).toEqual([
    'remove',
    'remove',
    'remove',
  ]);
});
