import { Type, type Static } from 'typebox';
import { GraphConfig, JsonObject, LARGEST_INTEGER, Limit, Metadata, Offset, SortOrder } from './agent-types.ts';
import { DateTime, Nullable, StringEnum, Uuid } from '../types.ts';

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
  assistant_id: Uuid(''),
  graph_id: Type.String(),
  name: Type.String(),
  description: Nullable(Type.String()),
  config: GraphConfig(),
  context: JsonObject('Static context of its runs.'),
  metadata: Metadata(),
  version: Type.Integer(),
  created_at: DateTime(''),
  updated_at: DateTime(''),
});
export type Assistant = Static<typeof Assistant>;

const written = {
  config: Type.Optional(Nullable(GraphConfig())),
  context: Type.Optional(Nullable(JsonObject('Static context of its runs.'))),
  metadata: Type.Optional(Nullable(Metadata())),
  name: Type.Optional(Nullable(Type.String())),
  description: Type.Optional(Nullable(Type.String())),
};

export const AssistantCreate = Type.Object({
  graph_id: Type.String({ minLength: 1 }),
  assistant_id: Type.Optional(Nullable(Uuid(''))),
  if_exists: Type.Optional(Nullable(StringEnum(['raise', 'do_nothing']))),
  ...written,
});
export type AssistantCreate = Static<typeof AssistantCreate>;

export const AssistantPatch = Type.Object({ graph_id: Type.Optional(Nullable(Type.String({ minLength: 1 }))), ...written });
export type AssistantPatch = Static<typeof AssistantPatch>;

const filters = {
  ids: Type.Optional(Nullable(Type.Array(Uuid('')))),
  metadata: Type.Optional(Nullable(Metadata())),
  graph_id: Type.Optional(Nullable(Type.String())),
  name: Type.Optional(Nullable(Type.String())),
};

export const AssistantCount = Type.Object(filters);

export const AssistantSearch = Type.Object({
  ...filters,
  limit: Limit(10),
  offset: Offset(),
  sort_by: Type.Optional(Nullable(StringEnum(['assistant_id', 'created_at', 'updated_at', 'name', 'graph_id']))),
  sort_order: Type.Optional(Nullable(SortOrder())),
  select: Type.Optional(Nullable(Type.Array(StringEnum(ASSISTANT_FIELDS)))),
});
export type AssistantSearch = Static<typeof AssistantSearch>;

export const AssistantVersions = Type.Object({ metadata: Type.Optional(Nullable(Metadata())), limit: Limit(10), offset: Offset() });

export const AssistantLatest = Type.Object({ version: Type.Integer({ minimum: 1, maximum: LARGEST_INTEGER }) });
