import { describe, expect, test } from 'vitest';
import { buildCrd, toStructuralSchema } from '../../src/schema/platform/resources/crd.ts';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import {
  buildFreeFormSchema,
  buildMapSchema,
  buildNullableSchema,
  buildEnumSchema,
} from '../../src/schema/types.ts';
import { everySchema, rootOf } from './walk.ts';

const KNOWN_FORMATS = ['date-time', 'uuid', 'int32', 'int64', 'byte', 'password'];
const LARGEST = 200_000;

const kinds = KINDS.map((kind) => ({ name: kind.kind, kind }));

describe.each(kinds)('the definition of $name', ({ kind }) => {
  const root = rootOf(kind);
  const all = [...everySchema(root)];

  test('is structural: every schema has one type of its own', () => {
    const untyped = all.filter(
      ({ schema }) =>
        schema['x-kubernetes-int-or-string'] !== true &&
        !['object', 'array', 'string', 'integer', 'number', 'boolean'].includes(
          String(schema.type),
        ),
    );
    expect(untyped.map(({ path }) => path)).toEqual([]);
  });

  test('uses no form that Kubernetes does not take', () => {
    const words = [
      'anyOf',
      'oneOf',
      'allOf',
      'not',
      'const',
      '$ref',
      '$id',
      'patternProperties',
      'additionalItems',
      'nullable',
      'exclusiveMinimum',
    ];
    const used = all.flatMap(({ path, schema }) =>
      words.filter((word) => word in schema).map((word) => `${path}: ${word}`),
    );
    expect(used).toEqual([]);
    expect(
      all.filter(({ schema }) => schema.additionalProperties === false).map(({ path }) => path),
    ).toEqual([]);
    expect(
      all.filter(({ schema }) => schema.enum?.includes(null) === true).map(({ path }) => path),
    ).toEqual([]);
  });

  test('names formats that Kubernetes knows', () => {
    const formats = all.flatMap(({ schema }) => schema.format ?? []);
    expect(formats.filter((format) => !KNOWN_FORMATS.includes(format))).toEqual([]);
  });

  test('leaves no field undescribed, which could be nested as deep and be as large as etcd takes it', () => {
    const free = all.filter(
      ({ schema }) => schema['x-kubernetes-preserve-unknown-fields'] === true,
    );
    expect(free.map(({ path }) => path)).toEqual([]);
  });

  test('bounds every list, map and text of the spec, so that rules over them have a known cost', () => {
    const spec = [...everySchema(root.properties?.spec ?? {}, 'spec')];
    const unbounded = spec.filter(({ schema }) => {
      if (schema.type === 'array') return schema.maxItems === undefined;
      if (schema.additionalProperties !== undefined) return schema.maxProperties === undefined;
      return (
        schema.type === 'string' &&
        schema.maxLength === undefined &&
        schema.enum === undefined &&
        schema.format === undefined
      );
    });
    expect(unbounded.map(({ path }) => path)).toEqual([]);
  });

  test('requires the spec, because rules on an absent one are skipped', () => {
    expect(root.required).toContain('spec');
  });

  test(`is smaller than ${LARGEST} bytes, which a client-side apply still takes`, () => {
    expect(JSON.stringify(buildCrd(kind)).length).toBeLessThan(LARGEST);
  });

  test('has a message for every rule', () => {
    const rules = all.flatMap(({ schema }) => schema['x-kubernetes-validations'] ?? []);
    expect(rules.filter(({ message }) => message === undefined || message === '')).toEqual([]);
  });

  test('shows its columns from fields that exist, and selects by such', () => {
    const shown = [...kind.columns.map(({ jsonPath }) => jsonPath), ...(kind.selectable ?? [])];
    const paths = shown
      .map((jsonPath) => jsonPath.slice(1))
      .filter((path) => !/^metadata|\[/.test(path));
    const known = new Set(all.map(({ path }) => path));
    expect(paths.filter((path) => !known.has(path))).toEqual([]);
  });
});

describe('structural', () => {
  test.each([
    [
      'a nullable text is a text',
      buildNullableSchema(buildEnumSchema(['a', 'b'])),
      { type: 'string', enum: ['a', 'b'] },
    ],
    [
      'a closed object loses its lock',
      { type: 'object', additionalProperties: false },
      { type: 'object' },
    ],
    [
      'a map keeps the schema of its values',
      buildMapSchema(buildNullableSchema(buildEnumSchema(['x'])), { maxProperties: 2 }),
      { type: 'object', maxProperties: 2, additionalProperties: { type: 'string', enum: ['x'] } },
    ],
    [
      'a free object stays free',
      buildFreeFormSchema('free'),
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, description: 'free' },
    ],
  ])('%s', (_situation, schema, expected) => {
    expect(toStructuralSchema(schema)).toEqual(expected);
  });
});
