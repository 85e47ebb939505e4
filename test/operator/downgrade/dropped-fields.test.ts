import { expect, test } from 'vitest';
import {
  listDefinitions,
  listDroppedFields,
  type StructuralSchema,
} from '../../../src/operator/downgrade/dropped-fields.ts';

const schema: StructuralSchema = {
  properties: {
    size: {},
    labels: { additionalProperties: {} },
    free: { 'x-kubernetes-preserve-unknown-fields': true },
    half: {
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { known: { properties: { a: {} } } },
    },
    parts: { items: { properties: { name: {} } } },
    bare: {},
  },
};

test.each<[string, object, string[]]>([
  ['fields that the schema names', { size: 1, parts: [{ name: 'a' }] }, []],
  ['any key of a map', { labels: { a: 'b' } }, []],
  ['anything in a free object', { free: { a: { b: 1 } } }, []],
  ['a field that it does not name', { size: 1, place: { zone: 'a' } }, ['spec.place']],
  [
    'a field within an item of a list',
    { parts: [{ name: 'a' }, { name: 'b', zone: 'c' }] },
    ['spec.parts[1].zone'],
  ],
  [
    'a field of a named part of a free object',
    { half: { other: 1, known: { a: 1, b: 2 } } },
    ['spec.half.known.b'],
  ],
  ['fields of an object of which it names none', { bare: { a: 1 } }, ['spec.bare.a']],
])('%s', (_, value, dropped) => {
  expect(listDroppedFields(value, schema, 'spec')).toEqual(dropped);
});

test('definitions are those of the group, by the version that is stored', () => {
  const definition = (group: string) => ({
    kind: 'CustomResourceDefinition',
    spec: {
      group,
      names: { kind: 'Thing' },
      versions: [
        { schema: { openAPIV3Schema: { properties: {} } } },
        { storage: true, schema: { openAPIV3Schema: schema } },
      ],
    },
  });
  expect(
    listDefinitions(
      [null, { kind: 'Service' }, definition('other.dev'), definition('gx.dev')],
      'gx.dev',
    ),
  ).toEqual([{ kind: 'Thing', schema }]);
});
