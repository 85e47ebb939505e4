import { Type, type Static } from 'typebox';
import {
  buildCheckpointConfigSchema,
  buildJsonObjectSchema,
  buildLimitSchema,
  buildMetadataSchema,
  buildOffsetSchema,
  buildSortOrderSchema,
} from './agent-types.ts';
import { GivenTtl } from './expiry.ts';
import {
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
} from '../types.ts';
import type { Json } from '../json.ts';

export const THREAD_STATUSES = ['idle', 'busy', 'interrupted', 'error'] as const;
export const THREAD_FIELDS = [
  'thread_id',
  'created_at',
  'updated_at',
  'state_updated_at',
  'metadata',
  'config',
  'status',
  'values',
  'interrupts',
  'error',
] as const;

export const Thread = Type.Object({
  thread_id: buildUuidSchema(''),
  created_at: buildDateTimeSchema(''),
  updated_at: buildDateTimeSchema(''),
  state_updated_at: buildDateTimeSchema(''),
  metadata: buildMetadataSchema(),
  config: buildJsonObjectSchema('Configuration of the thread.'),
  status: buildEnumSchema(THREAD_STATUSES),
  values: buildNullableSchema(buildJsonObjectSchema('The last state; null before the first run.')),
  interrupts: buildJsonObjectSchema('Task id -> the input that it waits for.'),
  error: buildNullableSchema(buildJsonObjectSchema('Why the last run failed.')),
});
export type Thread = Static<typeof Thread>;

/** Extra fields that `include` may ask for besides the thread. */
export const ThreadQuery = Type.Object({
  include: Type.Optional(Type.Array(buildEnumSchema(['ttl']))),
});

export const ThreadCreate = Type.Object({
  thread_id: Type.Optional(buildNullableSchema(buildUuidSchema(''))),
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
  if_exists: Type.Optional(buildNullableSchema(buildEnumSchema(['raise', 'do_nothing']))),
  ttl: Type.Optional(GivenTtl),
  supersteps: Type.Optional(
    buildNullableSchema(
      Type.Array(
        Type.Object({ updates: Type.Array(buildJsonObjectSchema('values, command, as_node')) }),
      ),
    ),
  ),
});
export type ThreadCreate = Static<typeof ThreadCreate>;

export const ThreadPatch = Type.Object({
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
  ttl: Type.Optional(GivenTtl),
});

const filters = {
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
  values: Type.Optional(
    buildNullableSchema(buildJsonObjectSchema('Values that the state must contain.')),
  ),
  status: Type.Optional(buildNullableSchema(buildEnumSchema(THREAD_STATUSES))),
};

export const ThreadCount = Type.Object(filters);

export const ThreadSearch = Type.Object({
  ...filters,
  ids: Type.Optional(buildNullableSchema(Type.Array(buildUuidSchema('')))),
  limit: buildLimitSchema(10),
  offset: buildOffsetSchema(),
  cursor: Type.Optional(
    buildNullableSchema(
      Type.String({
        maxLength: 200,
        description:
          'Start of the page: X-Pagination-Cursor of the previous page of the same search.',
      }),
    ),
  ),
  sort_by: Type.Optional(
    buildNullableSchema(
      buildEnumSchema(['thread_id', 'status', 'created_at', 'updated_at', 'state_updated_at']),
    ),
  ),
  sort_order: Type.Optional(buildNullableSchema(buildSortOrderSchema())),
  select: Type.Optional(buildNullableSchema(Type.Array(buildEnumSchema(THREAD_FIELDS)))),
  extract: Type.Optional(
    Type.Unsafe<Record<string, string> | null>({
      type: 'object',
      nullable: true,
      additionalProperties: { type: 'string' },
      description: 'Alias -> path into the record.',
    }),
  ),
});
export type ThreadSearch = Static<typeof ThreadSearch>;

export const ThreadPrune = Type.Object({
  thread_ids: Type.Array(buildUuidSchema(''), { minItems: 1 }),
  strategy: Type.Optional(buildEnumSchema(['delete', 'keep_latest'])),
});

export const StateUpdate = Type.Object({
  values: Type.Optional(
    Type.Unsafe<unknown>({
      type: ['object', 'array'],
      nullable: true,
      description: 'Update of the state, as a node would return it.',
    }),
  ),
  as_node: Type.Optional(buildNullableSchema(Type.String())),
  checkpoint: Type.Optional(buildCheckpointConfigSchema()),
  checkpoint_id: Type.Optional(buildNullableSchema(Type.String())),
});

export const STATE_FIELDS = [
  'values',
  'next',
  'tasks',
  'metadata',
  'created_at',
  'checkpoint',
  'parent_checkpoint',
  'interrupts',
  'checkpoint_id',
  'parent_checkpoint_id',
] as const;

/** The fields of a state that the answer has. All if none is named. */
export const StateSelect = Type.Array(buildEnumSchema(STATE_FIELDS));

export const StateAt = Type.Object({
  checkpoint: buildCheckpointConfigSchema(),
  subgraphs: Type.Optional(buildNullableSchema(Type.Boolean())),
  select: Type.Optional(buildNullableSchema(StateSelect)),
});

export const HistoryBody = Type.Object({
  limit: buildLimitSchema(1),
  before: Type.Optional(
    Type.Unsafe<string | Json | null>({
      type: ['string', 'object'],
      nullable: true,
      description: 'A checkpoint, or its id.',
    }),
  ),
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
  checkpoint: Type.Optional(buildCheckpointConfigSchema()),
  select: Type.Optional(buildNullableSchema(StateSelect)),
});
export type HistoryBody = Static<typeof HistoryBody>;
