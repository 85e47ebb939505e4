import { Type, type Static } from 'typebox';
import { JsonObject, LARGEST_INTEGER, Limit, Offset } from './agent-types.ts';
import { DateTime, Nullable } from '../types.ts';

/** A hundred years in minutes, which the database's dates can hold. */
const LONGEST_LIFE = 52_596_000;

const Labels = Type.Array(Type.String());

export const StoreItem = Type.Object({
  namespace: Labels,
  key: Type.String(),
  value: JsonObject('The stored value.'),
  created_at: DateTime(''),
  updated_at: DateTime(''),
});
export type StoreItem = Static<typeof StoreItem>;

export const StorePut = Type.Object({
  namespace: Labels,
  key: Type.String(),
  value: JsonObject('The value to store.'),
  index: Type.Optional(
    Type.Unsafe<false | string[] | null>({
      type: ['boolean', 'array'],
      nullable: true,
      items: { type: 'string' },
      not: { enum: [true] },
      description: 'Which paths of it are searched by meaning. False: none; unset: as gx.json says.',
    }),
  ),
  ttl: Type.Optional(Nullable(Type.Number({ exclusiveMinimum: 0, maximum: LONGEST_LIFE, description: 'Minutes.' }))),
});

export const StoreDelete = Type.Object({ namespace: Type.Optional(Labels), key: Type.String() });

export const StoreGet = Type.Object({
  namespace: Type.Optional(Type.String()),
  key: Type.Optional(Type.String()),
  refresh_ttl: Type.Optional(Type.Boolean()),
});

export const StoreSearch = Type.Object({
  namespace_prefix: Type.Optional(Nullable(Labels)),
  filter: Type.Optional(Nullable(JsonObject('Field -> value, or operators $eq $ne $gt $gte $lt $lte $in $nin.'))),
  limit: Limit(10),
  offset: Offset(),
  query: Type.Optional(Nullable(Type.String())),
  refresh_ttl: Type.Optional(Nullable(Type.Boolean())),
});
export type StoreSearch = Static<typeof StoreSearch>;

export const StoreNamespaces = Type.Object({
  prefix: Type.Optional(Nullable(Labels)),
  suffix: Type.Optional(Nullable(Labels)),
  max_depth: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: LARGEST_INTEGER }))),
  limit: Limit(100),
  offset: Offset(),
});
export type StoreNamespaces = Static<typeof StoreNamespaces>;
