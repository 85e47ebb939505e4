import {
  Type,
  type Static,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
} from 'typebox';

/*
 * TypeBox writes four shapes that Kubernetes does not accept as structural: an enum without a type, anyOf,
 * patternProperties, and null as a type. These functions write the ones it accepts. `Type.Union`, `Type.Record`,
 * `Type.Enum` and `Type.Null` stay out of schemas.
 */

type Options = { description?: string; default?: unknown; [keyword: string]: unknown };

/** Describes an object that has these fields and no other ones. */
export const buildClosedSchema = <F extends TProperties>(
  fields: F,
  options: Options = {},
): TObject<F> => Type.Object(fields, { additionalProperties: false, ...options });

/** Describes a text that is one of the given words. */
export const buildEnumSchema = <const T extends string>(
  words: readonly T[],
  options: Options = {},
): TUnsafe<T> => Type.Unsafe<T>({ type: 'string', enum: [...words], ...options });

/** Describes the same shape, or null. */
export const buildNullableSchema = <S extends TSchema>(schema: S): TUnsafe<Static<S> | null> => {
  const words = (schema as { enum?: unknown[] }).enum;
  return Type.Unsafe<Static<S> | null>({
    ...schema,
    nullable: true,
    ...(words && { enum: [...words, null] }),
  });
};

type Fields = Record<string, TSchema>;

/** Describes fields of an object that may all be absent. */
export const buildOptionalFields = <F extends Fields>(
  fields: F,
): { [K in keyof F]: TOptional<F[K]> } =>
  mapFields(fields, (schema) => Type.Optional(schema)) as { [K in keyof F]: TOptional<F[K]> };

/** Describes fields of an object that may all be absent, or null. */
export const buildNullableFields = <F extends Fields>(
  fields: F,
): { [K in keyof F]: TOptional<TUnsafe<Static<F[K]> | null>> } =>
  mapFields(fields, (schema) => Type.Optional(buildNullableSchema(schema))) as {
    [K in keyof F]: TOptional<TUnsafe<Static<F[K]> | null>>;
  };

const mapFields = (fields: Fields, by: (schema: TSchema) => TSchema): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, by(schema)]));

/** Describes a map from text to values of one shape. */
export const buildMapSchema = <S extends TSchema>(
  value: S,
  options: Options & { maxProperties: number },
): TUnsafe<Record<string, Static<S>>> =>
  Type.Unsafe<Record<string, Static<S>>>({
    type: 'object',
    additionalProperties: value,
    ...options,
  });

/** Describes an object whose fields are not ours to describe. */
export const buildFreeFormSchema = (description: string): TUnsafe<Record<string, unknown>> =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    description,
  });

/** Returns a time as Kubernetes writes it (metav1.Time): to the second, in UTC. */
export const formatKubernetesTime = (time: Date): string =>
  time.toISOString().replace(/\.\d+Z$/, 'Z');

export const buildDateTimeSchema = (description: string): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: 'date-time', description });

export const buildUuidSchema = (description: string): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: 'uuid', description });

/** A CEL rule of a custom resource; `message` is the API server's answer when it is broken. */
export type CelRule = { rule: string; message: string; fieldPath?: string };

/** Returns the schema with CEL rules (`self` is the value, `oldSelf` the previous one). */
export const addCelRules = <S extends TSchema>(schema: S, rules: CelRule[]): S => ({
  ...schema,
  'x-kubernetes-validations': rules,
});

type CamelKey<S> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelKey<Tail>>}`
  : S extends string
    ? S
    : never;

/** REST's snake_case record as a custom resource writes it: camelCase, and absent instead of null. */
export type ResourceForm<T> = { [K in keyof T as CamelKey<K>]?: Exclude<T[K], null> };

export const toCamelKey = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Returns the custom resource's schema of a REST record, with the same fields and bounds. */
export function toResourceSchema<S extends TObject>(
  schema: S,
  omit: string[] = [],
): TUnsafe<ResourceForm<Static<S>>> & {
  properties: Record<string, TSchema>;
} {
  const entries = Object.entries(schema.properties as Record<string, TSchema>).filter(
    ([name]) => !omit.includes(name),
  );
  const properties = Object.fromEntries(
    entries.map(([name, property]) => [toCamelKey(name), stripNull(property)]),
  );
  return Object.assign(Type.Unsafe<ResourceForm<Static<S>>>({ type: 'object' }), { properties });
}

function stripNull(schema: TSchema): TSchema {
  const {
    nullable: _nullable,
    enum: words,
    ...rest
  } = schema as TSchema & { nullable?: boolean; enum?: unknown[] };
  return { ...rest, ...(words && { enum: words.filter((word) => word !== null) }) };
}

/** Returns a REST record as the custom resource writes it, without its null fields. */
export function toResourceForm<T extends object>(record: T | null | undefined): ResourceForm<T> {
  const entries = Object.entries(record ?? {}).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return Object.fromEntries(
    entries.map(([name, value]) => [toCamelKey(name), value]),
  ) as ResourceForm<T>;
}

/** Returns a custom resource's record as REST answers it, with every field of the schema and null for those unset. */
export function toRestForm<S extends TObject>(schema: S, record: object | undefined): Static<S> {
  const source = (record ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys(schema.properties).map((name) => [name, source[toCamelKey(name)] ?? null]),
  ) as Static<S>;
}

/** Returns the schema of a field that may be absent or null. */
export const buildOptionalNullable = <S extends TSchema>(schema: S) =>
  Type.Optional(buildNullableSchema(schema));

/** Returns the schema of a text that may be absent. */
export const buildOptionalText = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, description }));
