import { Type, type Static } from 'typebox';
import { CheckpointConfig, JsonObject, Limit, Metadata, Offset, SortOrder } from './agent-types.ts';
import { GivenTtl } from './expiry.ts';
import { DateTime, Nullable, StringEnum, Uuid } from '../types.ts';

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
  thread_id: Uuid(''),
  created_at: DateTime(''),
  updated_at: DateTime(''),
  state_updated_at: DateTime(''),
  metadata: Metadata(),
  config: JsonObject('Configuration of the thread.'),
  status: StringEnum(THREAD_STATUSES),
  values: Nullable(JsonObject('The last state; null before the first run.')),
  interrupts: JsonObject('Task id -> the input that it waits for.'),
  error: Nullable(JsonObject('Why the last run failed.')),
});
export type Thread = Static<typeof Thread>;

/** Extra fields that `include` may ask for besides the thread. */
export const ThreadQuery = Type.Object({ include: Type.Optional(Type.Array(StringEnum(['ttl']))) });

export const ThreadCreate = Type.Object({
  thread_id: Type.Optional(Nullable(Uuid(''))),
  metadata: Type.Optional(Nullable(Metadata())),
  if_exists: Type.Optional(Nullable(StringEnum(['raise', 'do_nothing']))),
  ttl: Type.Optional(GivenTtl),
  supersteps: Type.Optional(Nullable(Type.Array(Type.Object({ updates: Type.Array(JsonObject('values, command, as_node')) })))),
});
export type ThreadCreate = Static<typeof ThreadCreate>;

export const ThreadPatch = Type.Object({
  metadata: Type.Optional(Nullable(Metadata())),
  ttl: Type.Optional(GivenTtl),
});

const filters = {
  metadata: Type.Optional(Nullable(Metadata())),
  values: Type.Optional(Nullable(JsonObject('State to contain.'))),
  status: Type.Optional(Nullable(StringEnum(THREAD_STATUSES))),
};

export const ThreadCount = Type.Object(filters);

export const ThreadSearch = Type.Object({
  ...filters,
  ids: Type.Optional(Nullable(Type.Array(Uuid('')))),
  limit: Limit(10),
  offset: Offset(),
  cursor: Type.Optional(
    Nullable(
      Type.String({ maxLength: 200, description: 'Where the page begins: X-Pagination-Cursor of the page before, of the same search.' }),
    ),
  ),
  sort_by: Type.Optional(Nullable(StringEnum(['thread_id', 'status', 'created_at', 'updated_at', 'state_updated_at']))),
  sort_order: Type.Optional(Nullable(SortOrder())),
  select: Type.Optional(Nullable(Type.Array(StringEnum(THREAD_FIELDS)))),
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
  thread_ids: Type.Array(Uuid(''), { minItems: 1 }),
  strategy: Type.Optional(StringEnum(['delete', 'keep_latest'])),
});

export const StateUpdate = Type.Object({
  values: Type.Optional(
    Type.Unsafe<unknown>({ type: ['object', 'array'], nullable: true, description: 'Update of the state, as a node would return it.' }),
  ),
  as_node: Type.Optional(Nullable(Type.String())),
  checkpoint: Type.Optional(CheckpointConfig()),
  checkpoint_id: Type.Optional(Nullable(Type.String())),
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
export const StateSelect = Type.Array(StringEnum(STATE_FIELDS));

export const StateAt = Type.Object({
  checkpoint: CheckpointConfig(),
  subgraphs: Type.Optional(Nullable(Type.Boolean())),
  select: Type.Optional(Nullable(StateSelect)),
});

export const HistoryBody = Type.Object({
  limit: Limit(1),
  before: Type.Optional(
    Type.Unsafe<string | JsonObject | null>({ type: ['string', 'object'], nullable: true, description: 'A checkpoint, or its id.' }),
  ),
  metadata: Type.Optional(Nullable(Metadata())),
  checkpoint: Type.Optional(CheckpointConfig()),
  select: Type.Optional(Nullable(StateSelect)),
});
export type HistoryBody = Static<typeof HistoryBody>;
