import { expect, test } from 'vitest';
import { Type } from 'typebox';
import { ResourceSpec } from '../../src/schema/platform/spec/resource-spec.ts';
import {
  toCamelKey,
  buildMapSchema,
  buildNullableSchema,
  toResourceSchema,
  buildEnumSchema,
  toResourceForm,
  toRestForm,
  addCelRules,
} from '../../src/schema/types.ts';

const Record = Type.Object({
  cpu_limit: Type.Optional(buildNullableSchema(Type.Number())),
  labels: Type.Optional(buildNullableSchema(buildMapSchema(Type.String(), { maxProperties: 2 }))),
  kind_word: Type.Optional(buildNullableSchema(buildEnumSchema(['a_b']))),
});

test.each([
  ['cpu', 'cpu'],
  ['db_max_connections', 'dbMaxConnections'],
  ['image_uri', 'imageUri'],
])('%s is written %s in a custom resource', (rest, resource) => {
  expect(toCamelKey(rest)).toBe(resource);
});

test('a record goes to a custom resource and comes back as it was, null where it was absent', () => {
  const rest = { cpu_limit: 0.5, labels: { some_key: 'v' }, kind_word: null };
  const resource = toResourceForm(rest);
  expect(resource).toEqual({ cpuLimit: 0.5, labels: { some_key: 'v' } });
  expect(toRestForm(Record, resource)).toEqual(rest);
});

test('zero, false and empty text are values, not absence', () => {
  expect(toResourceForm({ min_scale: 0, is_on: false, text: '' })).toEqual({
    minScale: 0,
    isOn: false,
    text: '',
  });
});

test('no record is an empty one', () => {
  expect(toResourceForm(undefined)).toEqual({});
  expect(toRestForm(Record, undefined)).toEqual({ cpu_limit: null, labels: null, kind_word: null });
});

test('every field of a resource spec has its own name on both sides', () => {
  const names = Object.keys(ResourceSpec.properties);
  expect(new Set(names.map(toCamelKey)).size).toBe(names.length);
  const whole = Object.fromEntries(names.map((name, index) => [name, index]));
  expect(toRestForm(ResourceSpec, toResourceForm(whole))).toEqual(whole);
});

test('the schema for a custom resource has the same fields without null, and none that is left out', () => {
  const form = JSON.parse(JSON.stringify(toResourceSchema(Record, ['labels']))) as object;
  expect(form).toEqual({
    type: 'object',
    properties: { cpuLimit: { type: 'number' }, kindWord: { type: 'string', enum: ['a_b'] } },
  });
});

test('rules are added beside what a schema says', () => {
  const rules = [{ rule: 'self > 0', message: 'positive' }];
  expect(addCelRules(Type.Integer({ maximum: 3 }), rules)).toMatchObject({
    maximum: 3,
    'x-kubernetes-validations': rules,
  });
});
