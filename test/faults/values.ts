import type { TSchema } from 'typebox';

/* Values for every property that a schema has: usual, extreme and impossible ones. */

export type Variant = { path: string; value: unknown };

type Schema = {
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  maxProperties?: number;
};

/** Returns `base` with one property changed, for every property below the schema and every value worth trying. */
export const variantsOf = (schema: TSchema, base: unknown): Variant[] => variants(schema, base, '');

function variants(schema: Schema, base: unknown, path: string): Variant[] {
  if (schema.enum !== undefined)
    return [...schema.enum, 'no-such-word'].map((value) => told(path, value));
  if (schema.type === 'object') return objects(schema, base, path);
  if (schema.type === 'array') return lists(schema, path);
  return (SCALARS[schema.type ?? ''] ?? (() => []))(schema).map((value) => told(path, value));
}

const told = (path: string, value: unknown): Variant => ({ path, value });

const SCALARS: Record<string, (schema: Schema) => unknown[]> = {
  boolean: () => [true, false, 'yes'],
  integer: (schema) => [...bounds(schema), 1.5, 'many'],
  number: (schema) => [...bounds(schema), 'many'],
  string: (schema) => {
    if (schema.format === 'date-time')
      return ['2026-01-01T00:00:00Z', '9999-12-31T23:59:59Z', 'tomorrow'];
    if (schema.format === 'uuid') return ['33333333-3333-4333-8333-333333333333', 'me'];
    const { minLength = 0, maxLength = 64 } = schema;
    return [
      'usual',
      'x'.repeat(Math.max(1, minLength)),
      'x'.repeat(maxLength),
      'x'.repeat(maxLength + 1),
      '',
      'spaced out\nünï',
      7,
    ];
  },
};

function bounds({ minimum = 0, maximum = 2 ** 31 }: Schema): number[] {
  return [minimum, maximum, minimum - 1, maximum + 1];
}

function objects(schema: Schema, base: unknown, path: string): Variant[] {
  const known = (base ?? example(schema)) as Record<string, unknown>;
  const { properties = {}, additionalProperties, maxProperties = 8 } = schema;
  const below = Object.entries(properties).flatMap(([name, property]) => [
    ...variants(property, known[name], `${path}.${name}`).map((variant) => ({
      ...variant,
      value: { ...known, [name]: variant.value },
    })),
    ...(name in known ? [told(`${path}.${name} left out`, without(known, name))] : []),
  ]);
  if (typeof additionalProperties !== 'object') {
    const isFree = schema.properties === undefined;
    return [
      ...below,
      ...(isFree ? [{}, { nonsense: [1] }, 'flat'] : [{ ...known, noSuchField: 1 }, 'flat']).map(
        (value) => told(`${path} as a whole`, value),
      ),
    ];
  }
  const value = example(additionalProperties);
  const many = Object.fromEntries(
    Array.from({ length: maxProperties + 1 }, (_, index) => [`key-${index}`, value]),
  );
  const maps = [
    {},
    { usual: value },
    { 'example.com/usual': value },
    { 'not a key!': value },
    { usual: 'x'.repeat(5000) },
    many,
  ];
  return [...below, ...maps.map((map) => told(path, map))];
}

function lists({ items = {}, maxItems = 8 }: Schema, path: string): Variant[] {
  const one = example(items);
  const below = variants(items, one, `${path}[0]`).map((variant) => ({
    ...variant,
    value: [variant.value],
  }));
  const many = Array.from({ length: maxItems + 1 }, () => one);
  return [...below, ...[[], [one], [one, one], many, 'flat'].map((value) => told(path, value))];
}

/** Returns the smallest value that the schema accepts. */
function example(schema: Schema): unknown {
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === 'object') {
    const { properties = {}, required = [] } = schema;
    return Object.fromEntries(required.map((name) => [name, example(properties[name] ?? {})]));
  }
  if (schema.type === 'array') return [];
  if (schema.type === 'boolean') return true;
  if (schema.type === 'string') return 'usual';
  return schema.minimum ?? 1;
}

const without = (record: Record<string, unknown>, name: string): object =>
  Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));
