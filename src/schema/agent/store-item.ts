import { Type, type Static } from 'typebox';
import {
  buildJsonObjectSchema,
  LARGEST_INTEGER,
  buildLimitSchema,
  buildOffsetSchema,
} from './agent-types.ts';
import { buildDateTimeSchema, buildNullableSchema } from '../types.ts';

/** A hundred years in minutes, which the database's dates can hold. */
const LONGEST_LIFE = 52_596_000;

const Labels = Type.Array(Type.String());

export const StoreItem = Type.Object({
  namespace: Labels,
  key: Type.String(),
  value: buildJsonObjectSchema('The stored value.'),
  created_at: buildDateTimeSchema(''),
  updated_at: buildDateTimeSchema(''),
});
export type StoreItem = Static<typeof StoreItem>;

export const StorePut = Type.Object({
  namespace: Labels,
  key: Type.String(),
  value: buildJsonObjectSchema('The value to store.'),
  index: Type.Optional(
    Type.Unsafe<false | string[] | null>({
      type: ['boolean', 'array'],
      nullable: true,
      items: { type: 'string' },
      not: { enum: [true] },
      description:
        'The paths in the value that semantic search covers. False: none; unset: those of gx.json.',
    }),
  ),
  ttl: Type.Optional(
    buildNullableSchema(
      Type.Number({ exclusiveMinimum: 0, maximum: LONGEST_LIFE, description: 'Minutes.' }),
    ),
  ),
});

export const StoreDelete = Type.Object({ namespace: Type.Optional(Labels), key: Type.String() });

export const StoreGet = Type.Object({
  namespace: Type.Optional(Type.String()),
  key: Type.Optional(Type.String()),
  refresh_ttl: Type.Optional(Type.Boolean()),
});

export const StoreSearch = Type.Object({
  namespace_prefix: Type.Optional(buildNullableSchema(Labels)),
  filter: Type.Optional(
    buildNullableSchema(
      buildJsonObjectSchema('Field -> value, or operators $eq $ne $gt $gte $lt $lte $in $nin.'),
    ),
  ),
  limit: buildLimitSchema(10),
  offset: buildOffsetSchema(),
  query: Type.Optional(buildNullableSchema(Type.String())),
  refresh_ttl: Type.Optional(buildNullableSchema(Type.Boolean())),
});
export type StoreSearch = Static<typeof StoreSearch>;

export const StoreNamespaces = Type.Object({
  prefix: Type.Optional(buildNullableSchema(Labels)),
  suffix: Type.Optional(buildNullableSchema(Labels)),
  max_depth: Type.Optional(
    buildNullableSchema(Type.Integer({ minimum: 1, maximum: LARGEST_INTEGER })),
  ),
  limit: buildLimitSchema(100),
  offset: buildOffsetSchema(),
});
export type StoreNamespaces = Static<typeof StoreNamespaces>;
