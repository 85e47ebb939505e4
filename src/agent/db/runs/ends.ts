import type { RunStatus } from '../../../schema/agent/run.ts';
import { toFieldText } from '../base/json-field.ts';
import { buildRowsSql } from '../base/plans.ts';
import type { Db } from '../base/pool.ts';
import { LongStates } from '../fields/long-states.ts';
import { runErrorPlace } from '../fields/run-fields.ts';
import { runUnderContext, type EncryptionContext } from '../../kernel/encryption-context.ts';
import { sealField } from '../fields/sealed-fields.ts';
import {
  buildThreadInterruptsPlace,
  sealValuesColumns,
  type StateText,
} from '../fields/thread-values.ts';
import { SUMS_OF_RUN } from '../usage/model-calls.ts';
import { STATE_OF_THREAD, buildEndMessagesSql } from '../webhooks/webhooks.ts';

/* This file writes the end of a run that its worker has carried to its end. */

export type FinishRun = {
  run_id: string;
  thread_id: string;
  worker: string;
  status: RunStatus;
  error: object | null;
  /** The one that its end is encrypted under. */
  context?: EncryptionContext | undefined;
  webhook: boolean;
  /** Whether calls of its models may have been recorded, whose sums the run then has. */
  hasCalls: boolean;
  thread: { status: 'idle' | 'interrupted' | 'error'; interrupts: string | undefined } & StateText;
};

/**
 * `status`: the one that the run ended with. `told`: a message about it, or about an end that was written with it, is
 * to be sent.
 */
export type Finished = {
  readers: string[];
  more: boolean;
  status: RunStatus;
  updated_at: string;
  told: boolean;
};

/**
 * The outcome of writing an end: it was written, or the run is to be rolled back, or (undefined) the run is another
 * worker's.
 */
export type WrittenEnd = Finished | 'to-roll-back' | undefined;

const GIVEN = {
  run_id: 'uuid',
  worker: 'uuid',
  status: 'text',
  error: 'text',
  rest: 'text',
  values: 'text',
  interrupts: 'text',
  long_values: 'text',
  tail: 'text',
  kept: 'int',
  written_at: 'timestamptz',
  has_calls: 'boolean',
};

/** Says whether another run of the thread is due. */
const MORE = `(select true from gx.run p where p.thread_id = r.thread_id and p.status = 'pending' and p.due_at <= now() limit 1) is not null as more`;

/** The state that an end leaves: unchanged, whole, or the text of the row with a tail behind it. */
const LEFT_STATE = `case when f."values" is null then ${STATE_OF_THREAD}
    when f.tail is null then coalesce(f.long_values, f."values")::json
    else (select (left(l.long_values, f.kept) || f.tail)::json from threads l where l.thread_id = r.thread_id) end`;

/** The questions that an end leaves, where the thread waits for answers. */
const LEFT_QUESTIONS = `case when f.rest = 'interrupted' and r.status = 'success' then
    coalesce(f.interrupts::json, (select t.interrupts::json from gx.thread t where t.thread_id = r.thread_id)) end`;

const REPORTS = `told as (${buildEndMessagesSql({
  from: 'r join f using (run_id)',
  status: 'r.status',
  values: LEFT_STATE,
  questions: LEFT_QUESTIONS,
})}),`;

/**
 * Rows are locked as everywhere, threads before runs and each in the order of their ids, so that an admission on the
 * thread and an end never wait for each other. Each row is looked up by its key, also by a plan that was made while the
 * tables were small. `behind`: the thread's state is not the one that a tail would add to, or a receiver was named
 * after the run began, and nothing is written. `tells`: some of the ends are to be sent, which is written down, too.
 */
const endSql = (tells: boolean): string => `with asked as materialized (
    select * from ${buildRowsSql(GIVEN, 'f')}),
  threads as materialized (
    select t.* from (select r.thread_id from asked a, lateral (select thread_id from gx.run where run_id = a.run_id limit 1) r order by thread_id) o,
      lateral (select thread_id, long_values_at${tells ? ', long_values' : ''} from gx.thread t where t.thread_id = o.thread_id for no key update) t),
  runs as materialized (
    select r.* from (select run_id from asked where (select count(*) from threads) >= 0 order by run_id) o,
      lateral (select run_id, thread_id, worker, status, cancel, webhook is not null as listened from gx.run r where r.run_id = o.run_id for no key update) r),
  f as materialized (
    select run_id, cancel, "values", long_values, tail, kept, interrupts, has_calls,
      case when cancel is null then f.status else 'interrupted' end as status,
      case when cancel is null then error::jsonb end as error,
      case when cancel is not null and rest = 'error' then 'idle' else rest end as rest,
      ${tells ? '' : 'listened or '}(written_at is not null
        and not exists (select 1 from threads t where t.thread_id = runs.thread_id and t.long_values_at = written_at)) as behind
    from asked f join runs using (run_id, worker) where runs.status = 'running'),
  r as (
    update gx.run r set status = f.status, error = f.error, updated_at = now(), ended_at = now(), lease_until = null,
      usage = case when f.has_calls then ${SUMS_OF_RUN} end
    from f where r.run_id = f.run_id and f.cancel is distinct from 'rollback' and not f.behind
    returning ${tells ? 'r.*' : 'r.run_id, r.thread_id, r.readers, r.status, r.updated_at'}),
  ${tells ? REPORTS : ''}
  t as (
    update gx.thread t set status = f.rest, "values" = coalesce(f."values"::jsonb, t."values"),
      long_values = case when f."values" is null or f.tail is not null then t.long_values else f.long_values end,
      long_values_at = case when f.long_values is not null or f."values" is null and t.long_values_at = t.state_updated_at then now()
        when f.tail is not null or f."values" is null then t.long_values_at end,
      long_kept = case when f."values" is null then t.long_kept else f.kept end,
      long_tail = case when f."values" is null then t.long_tail else f.tail end,
      long_tail_at = case when f.tail is not null or f."values" is null and t.long_tail_at = t.state_updated_at then now() end,
      interrupts = coalesce(f.interrupts::jsonb, t.interrupts), error = f.error, updated_at = now(), state_updated_at = now()
    from r join f using (run_id) where t.thread_id = r.thread_id
    returning f.run_id, t.long_values_at)
  select f.run_id, f.cancel, f.behind, r.readers, r.status, r.updated_at, t.long_values_at::text as long_at,
    ${MORE}, ${tells ? '(select count(*) from told) > 0' : 'false'} as told
  from f left join r using (run_id) left join t using (run_id)`;

const UNREPORTED_END = { name: 'run_finish', text: endSql(false) };
const REPORTED_END = { name: 'run_finish_telling', text: endSql(true) };

/**
 * Ends runs of one worker and writes down where their threads rest, in one statement. A cancel that was answered before
 * has the last word, because clients got the answer that the run is interrupted, or gone. `longStates` are those that
 * this process wrote. The ends of threads whose state somebody else has written since, and of runs that got a listener
 * under way, take a second statement.
 */
export async function finishRuns(
  db: Db,
  runs: FinishRun[],
  longStates = new LongStates(0),
): Promise<WrittenEnd[]> {
  const tells = runs.some(({ webhook }) => webhook);
  const ends = await writeEnds(db, runs, { longStates, tells });
  const behind = runs.filter((_, at) => ends[at] === 'behind');
  if (behind.length === 0) return ends as WrittenEnd[];
  for (const { thread_id } of behind) longStates.dropState(thread_id);
  const later = await writeEnds(db, behind, { longStates, tells: true });
  return ends.map((end) => (end === 'behind' ? (later.shift() as WrittenEnd) : end));
}

/** Returns `behind` for a run of a thread whose state is not the one that a tail would add to. */
async function writeEnds(
  db: Db,
  runs: FinishRun[],
  { longStates, tells }: { longStates: LongStates; tells: boolean },
): Promise<(WrittenEnd | 'behind')[]> {
  const mapRuns = <T>(fieldOf: (run: FinishRun) => Promise<T>): Promise<T[]> =>
    Promise.all(runs.map((run) => runUnderContext(run.context, () => fieldOf(run))));
  const states = await mapRuns(({ thread_id, thread }) =>
    sealValuesColumns(db, thread_id, thread, (text) => longStates.planTail(thread_id, text)),
  );
  const errors = await mapRuns(({ thread_id, error }) =>
    sealField(db, runErrorPlace(thread_id), error),
  );
  const interrupts = await mapRuns(({ thread_id, thread }) =>
    sealInterrupts(db, thread_id, thread.interrupts),
  );
  const rows = await db.query<
    Finished & {
      run_id: string;
      cancel: 'interrupt' | 'rollback' | null;
      behind: boolean;
      long_at: string | null;
    }
  >({
    ...(tells ? REPORTED_END : UNREPORTED_END),
    values: [
      runs.map(({ run_id }) => run_id),
      runs.map(({ worker }) => worker),
      runs.map(({ status }) => status),
      errors,
      runs.map(({ thread }) => thread.status),
      states.map(({ values }) => values),
      interrupts,
      states.map(({ long }) => long),
      states.map(({ tail }) => tail?.text ?? null),
      states.map(({ tail }) => tail?.kept ?? null),
      states.map(({ tail }) => tail?.at ?? null),
      runs.map(({ hasCalls }) => hasCalls),
    ],
  });
  const found = new Map(rows.map((row) => [row.run_id, row]));
  return runs.map(({ run_id, thread_id }, at) => {
    const row = found.get(run_id);
    if (row === undefined) return undefined;
    const { cancel, behind, readers, more, status, updated_at, told, long_at } = row;
    if (cancel === 'rollback') return 'to-roll-back';
    if (behind) return 'behind';
    const { long } = states[at]!;
    if (long !== null && !db.codec.encrypts)
      longStates.cacheState(thread_id, { text: long, at: long_at! });
    return { readers, more, status, updated_at, told };
  });
}

const sealInterrupts = async (
  { codec }: Db,
  thread_id: string,
  json: string | undefined,
): Promise<string | null> =>
  json === undefined ? null : codec.seal(buildThreadInterruptsPlace(thread_id), toFieldText(json));

/** Returns an end that the worker wrote before without getting the answer; undefined where there is none. */
export async function loadEarlierEnd(
  db: Db,
  { run_id, worker }: FinishRun,
): Promise<Finished | undefined> {
  const [run] = await db.query<Finished>({
    text: `select readers, status, updated_at, webhook is not null as told,
        ${MORE}
      from gx.run r where run_id = $1 and worker = $2 and ended_at is not null`,
    values: [run_id, worker],
  });
  return run;
}
