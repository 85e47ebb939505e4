import { Type, type Static } from 'typebox';
import { JsonObject, Limit, Metadata, Offset, SortOrder } from './agent-types.ts';
import { RunCreate } from './run.ts';
import { DateTime, Nullable, StringEnum, Uuid, optionalOrNull } from '../types.ts';

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

const Schedule = (): ReturnType<typeof Type.String> =>
  Type.String({
    minLength: 1,
    maxLength: LONGEST_SCHEDULE,
    description: 'Five fields (minute, hour, day, month, weekday), or six with seconds before them.',
  });

const when = {
  ...optionalOrNull({
    timezone: Type.String({ minLength: 1, maxLength: 64, description: 'IANA name; null is UTC.' }),
    end_time: Type.String({ maxLength: 64, description: 'ISO 8601; without an offset it is UTC. Nothing fires after it.' }),
    enabled: Type.Boolean(),
    on_run_completed: StringEnum(['delete', 'keep'], { description: 'Whether to delete or keep the thread that is made for each run.' }),
    metadata: Metadata(),
  }),
};

export const CronCreate = Type.Object({ schedule: Schedule(), assistant_id: run.assistant_id, ...when, ...call });
export type CronCreate = Static<typeof CronCreate>;

export const CronPatch = Type.Object({ schedule: Type.Optional(Nullable(Schedule())), ...when, ...call });
export type CronPatch = Static<typeof CronPatch>;

/** The stored call of a cron, from which its runs are made. */
export type CronCall = Pick<CronPatch, keyof typeof call>;

export const Cron = Type.Object({
  cron_id: Uuid(''),
  assistant_id: Uuid(''),
  thread_id: Nullable(Uuid('Null when each run has a thread of its own.')),
  user_id: Nullable(Type.String({ description: 'Who made it, where callers are known.' })),
  end_time: Nullable(DateTime('')),
  schedule: Type.String(),
  timezone: Nullable(Type.String()),
  payload: JsonObject('The call that each run gets.'),
  next_run_date: Nullable(DateTime('Null when it does not fire any more.')),
  metadata: Metadata(),
  on_run_completed: Nullable(StringEnum(['delete', 'keep'], { description: 'Null on a given thread.' })),
  enabled: Type.Boolean(),
  created_at: DateTime(''),
  updated_at: DateTime(''),
});
export type Cron = Static<typeof Cron>;

export const CRON_FIELDS = Object.keys(Cron.properties) as (keyof Cron)[];

const filters = {
  assistant_id: Type.Optional(Nullable(Type.String({ minLength: 1, description: 'An assistant, or the name of a graph.' }))),
  thread_id: Type.Optional(Nullable(Uuid(''))),
  enabled: Type.Optional(Nullable(Type.Boolean())),
  metadata: Type.Optional(Nullable(Metadata())),
};

export const CronCount = Type.Object(filters);
export type CronCount = Static<typeof CronCount>;

const SORTED_BY = ['cron_id', 'assistant_id', 'thread_id', 'created_at', 'updated_at', 'next_run_date', 'end_time'] as const;

export const CronSearch = Type.Object({
  ...filters,
  limit: Limit(10),
  offset: Offset(),
  sort_by: Type.Optional(Nullable(StringEnum(SORTED_BY))),
  sort_order: Type.Optional(Nullable(SortOrder())),
  select: Type.Optional(Nullable(Type.Array(StringEnum([...CRON_FIELDS, 'now'])))),
});
export type CronSearch = Static<typeof CronSearch>;
