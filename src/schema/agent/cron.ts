import { Type, type Static } from 'typebox';
import {
  buildJsonObjectSchema,
  buildLimitSchema,
  buildMetadataSchema,
  buildOffsetSchema,
  buildSortOrderSchema,
} from './agent-types.ts';
import { RunCreate } from './run.ts';
import {
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
  buildNullableFields,
} from '../types.ts';

const run = RunCreate.properties;

/** The call that each run of a cron gets: fields of a run, under the same names. */
const call = {
  input: run.input,
  config: run.config,
  context: run.context,
  webhook: run.webhook,
  interrupt_before: run.interrupt_before,
  interrupt_after: run.interrupt_after,
  stream_mode: run.stream_mode,
  stream_subgraphs: run.stream_subgraphs,
  stream_resumable: run.stream_resumable,
  multitask_strategy: run.multitask_strategy,
  checkpoint_during: run.checkpoint_during,
  durability: run.durability,
};

export const CALL_FIELDS = Object.keys(call) as (keyof typeof call)[];

const LONGEST_SCHEDULE = 256;

const buildScheduleSchema = (): ReturnType<typeof Type.String> =>
  Type.String({
    minLength: 1,
    maxLength: LONGEST_SCHEDULE,
    description:
      'Five fields (minute, hour, day, month, weekday), or six with seconds before them.',
  });

const when = {
  ...buildNullableFields({
    timezone: Type.String({ minLength: 1, maxLength: 64, description: 'IANA name; null is UTC.' }),
    end_time: Type.String({
      maxLength: 64,
      description: 'ISO 8601; without an offset it is UTC. Nothing fires after it.',
    }),
    enabled: Type.Boolean(),
    on_run_completed: buildEnumSchema(['delete', 'keep'], {
      description: 'Whether to delete or keep the thread that is made for each run.',
    }),
    metadata: buildMetadataSchema(),
  }),
};

export const CronCreate = Type.Object({
  schedule: buildScheduleSchema(),
  assistant_id: run.assistant_id,
  ...when,
  ...call,
});
export type CronCreate = Static<typeof CronCreate>;

export const CronPatch = Type.Object({
  schedule: Type.Optional(buildNullableSchema(buildScheduleSchema())),
  ...when,
  ...call,
});
export type CronPatch = Static<typeof CronPatch>;

/** The stored call of a cron, from which its runs are made. */
export type CronCall = Pick<CronPatch, keyof typeof call>;

export const Cron = Type.Object({
  cron_id: buildUuidSchema(''),
  assistant_id: buildUuidSchema(''),
  thread_id: buildNullableSchema(buildUuidSchema('Null when each run has a thread of its own.')),
  user_id: buildNullableSchema(
    Type.String({ description: 'Who created it, if callers are authenticated.' }),
  ),
  end_time: buildNullableSchema(buildDateTimeSchema('')),
  schedule: Type.String(),
  timezone: buildNullableSchema(Type.String()),
  payload: buildJsonObjectSchema('The call that each run gets.'),
  next_run_date: buildNullableSchema(buildDateTimeSchema('Null when it does not fire any more.')),
  metadata: buildMetadataSchema(),
  on_run_completed: buildNullableSchema(
    buildEnumSchema(['delete', 'keep'], { description: 'Null on a given thread.' }),
  ),
  enabled: Type.Boolean(),
  created_at: buildDateTimeSchema(''),
  updated_at: buildDateTimeSchema(''),
});
export type Cron = Static<typeof Cron>;

export const CRON_FIELDS = Object.keys(Cron.properties) as (keyof Cron)[];

const filters = {
  assistant_id: Type.Optional(
    buildNullableSchema(
      Type.String({ minLength: 1, description: 'An assistant, or the name of a graph.' }),
    ),
  ),
  thread_id: Type.Optional(buildNullableSchema(buildUuidSchema(''))),
  enabled: Type.Optional(buildNullableSchema(Type.Boolean())),
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
};

export const CronCount = Type.Object(filters);
export type CronCount = Static<typeof CronCount>;

const SORTED_BY = [
  'cron_id',
  'assistant_id',
  'thread_id',
  'created_at',
  'updated_at',
  'next_run_date',
  'end_time',
] as const;

export const CronSearch = Type.Object({
  ...filters,
  limit: buildLimitSchema(10),
  offset: buildOffsetSchema(),
  sort_by: Type.Optional(buildNullableSchema(buildEnumSchema(SORTED_BY))),
  sort_order: Type.Optional(buildNullableSchema(buildSortOrderSchema())),
  select: Type.Optional(buildNullableSchema(Type.Array(buildEnumSchema([...CRON_FIELDS, 'now'])))),
});
export type CronSearch = Static<typeof CronSearch>;
