import { Type, type Static } from 'typebox';
import {
  buildGraphConfigSchema,
  buildJsonObjectSchema,
  LARGEST_INTEGER,
  buildLimitSchema,
  buildMetadataSchema,
  buildOffsetSchema,
  buildSortOrderSchema,
} from './agent-types.ts';
import {
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
} from '../types.ts';

export const ASSISTANT_FIELDS = [
  'assistant_id',
  'graph_id',
  'name',
  'description',
  'config',
  'context',
  'metadata',
  'version',
  'created_at',
  'updated_at',
] as const;

export const Assistant = Type.Object({
  assistant_id: buildUuidSchema(''),
  graph_id: Type.String(),
  name: Type.String(),
  description: buildNullableSchema(Type.String()),
  config: buildGraphConfigSchema(),
  context: buildJsonObjectSchema('Static context of its runs.'),
  metadata: buildMetadataSchema(),
  version: Type.Integer(),
  created_at: buildDateTimeSchema(''),
  updated_at: buildDateTimeSchema(''),
});
export type Assistant = Static<typeof Assistant>;

const written = {
  config: Type.Optional(buildNullableSchema(buildGraphConfigSchema())),
  context: Type.Optional(buildNullableSchema(buildJsonObjectSchema('Static context of its runs.'))),
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
  name: Type.Optional(buildNullableSchema(Type.String())),
  description: Type.Optional(buildNullableSchema(Type.String())),
};

export const AssistantCreate = Type.Object({
  graph_id: Type.String({ minLength: 1 }),
  assistant_id: Type.Optional(buildNullableSchema(buildUuidSchema(''))),
  if_exists: Type.Optional(buildNullableSchema(buildEnumSchema(['raise', 'do_nothing']))),
  ...written,
});
export type AssistantCreate = Static<typeof AssistantCreate>;

export const AssistantPatch = Type.Object({
  graph_id: Type.Optional(buildNullableSchema(Type.String({ minLength: 1 }))),
  ...written,
});
export type AssistantPatch = Static<typeof AssistantPatch>;

const filters = {
  ids: Type.Optional(buildNullableSchema(Type.Array(buildUuidSchema('')))),
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
  graph_id: Type.Optional(buildNullableSchema(Type.String())),
  name: Type.Optional(buildNullableSchema(Type.String())),
};

export const AssistantCount = Type.Object(filters);

export const AssistantSearch = Type.Object({
  ...filters,
  limit: buildLimitSchema(10),
  offset: buildOffsetSchema(),
  sort_by: Type.Optional(
    buildNullableSchema(
      buildEnumSchema(['assistant_id', 'created_at', 'updated_at', 'name', 'graph_id']),
    ),
  ),
  sort_order: Type.Optional(buildNullableSchema(buildSortOrderSchema())),
  select: Type.Optional(buildNullableSchema(Type.Array(buildEnumSchema(ASSISTANT_FIELDS)))),
});
export type AssistantSearch = Static<typeof AssistantSearch>;

export const AssistantVersions = Type.Object({
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
  limit: buildLimitSchema(10),
  offset: buildOffsetSchema(),
});

export const AssistantLatest = Type.Object({
  version: Type.Integer({ minimum: 1, maximum: LARGEST_INTEGER }),
});
