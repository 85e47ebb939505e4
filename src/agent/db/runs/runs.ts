import type { FeedbackToken } from './feedback.ts';
import type {
  MultitaskStrategy,
  Run,
  RunError,
  RunKwargs,
  RunStatus,
  WebhookStatus,
} from '../../../schema/agent/run.ts';
import {
  encodePatterns,
  buildPermitSql,
  buildThreadPermitSql,
  type Patterns,
} from '../base/permits.ts';
import { openRows } from '../../encryption/codec.ts';
import { wrapParameter } from '../base/plans.ts';
import { openRuns } from '../fields/run-fields.ts';
import { buildThreadPinSql } from './revisions.ts';
import type { Db } from '../base/pool.ts';
import type { BoundRaise } from '../budgets/accounts.ts';
import type { TaskOfRun } from '../webhooks/push-configs.ts';
import type { RequestKey } from '../../kernel/request-key.ts';
import type { StrictAnswer } from '../../kernel/strict-resume.ts';
import { buildEndMessagesSql, type WebhookTarget } from '../webhooks/webhooks.ts';
import type { Json } from '../../../schema/json.ts';

/** The values that a run takes from its assistant and its thread. */
export type RunContext = {
  assistant_id: string;
  graph_id: string;
  /** That of the assistant. */
  version: number;
  config: Json;
  context: Json;
  metadata: Json;
  thread_config: Json | null;
  thread_metadata: Json | null;
  /** The living revision that the thread is pinned to. */
  thread_revision: string | null;
  /** Whether the thread waits with budgets that a run may go on with. */
  has_budget_chain?: boolean;
};

export type NewRun = {
  run_id: string;
  thread_id: string;
  assistant_id: string;
  graph_id: string;
  metadata: object;
  kwargs: RunKwargs;
  webhook: WebhookTarget | null;
  /** Set for a run that a task of A2A begins, with whom it tells, or goes on with. */
  task?: TaskOfRun | undefined;
  multitask_strategy: MultitaskStrategy;
  /** The questions that must wait when the run is stored. */
  answering?: StrictAnswer;
  /** The budget that is raised when it is. */
  raise?: BoundRaise;
  after_seconds: number;
  /** The revision that its request names, and the user who asks: they may decide which revision executes it. */
  place?: { revision?: string | undefined; asker?: string | undefined };
  /** That of the request, where it is carried out once. Such a run is not stored where the key is kept already. */
  key?: RequestKey | undefined;
  /** Processes that already wait for the run's events. */
  readers: string[];
  /** Places for feedback on the run, which are opened with it. */
  feedback?: FeedbackToken[];
  /** `changeable`: which thread the run may be put on, where its caller is guarded. */
  thread: { create: boolean; metadata: object; runs: number; changeable?: Patterns };
};

/** True for a run that somebody cancelled, and whose worker has not confirmed it yet. */
const STOPPING = `(cancel is not null and status in ('pending', 'running'))`;

/*
 * From the statement that takes a cancel on, clients see the run as it will end: interrupted, or gone when it is rolled
 * back. The row keeps the status until the worker confirms, because the thread is busy until then.
 */
export const RUN_STATUS = `case when ${STOPPING} then 'interrupted' else status end`;
export const RUN_GONE = `(${STOPPING} and cancel = 'rollback')`;

/** The status that clients see of a webhook before the first one is written. */
export const NOT_SENT: WebhookStatus = { state: 'pending', attempts: 0, last_error: null };
export const NEVER_SENT: WebhookStatus = { ...NOT_SENT, state: 'skipped' };
const FIRST_STATUS = `(case when webhook ? 'skipped' then '${JSON.stringify(NEVER_SENT)}' else '${JSON.stringify(NOT_SENT)}' end)::jsonb`;
const WEBHOOK_STATUS = `case when webhook ? 'url' then coalesce(webhook_status, ${FIRST_STATUS}) end`;

const SHOWN = `run_id, thread_id, assistant_id, created_at, updated_at, ${RUN_STATUS} as status, metadata, kwargs, multitask_strategy,
  ${WEBHOOK_STATUS} as webhook_status, attempt, revision, usage`;

/** True for the thread of a row that waits with budgets. */
export const buildChainSql = (row: string): string =>
  `(select 1 from gx.budget_chain b where b.thread_id = ${row}.thread_id limit 1) is not null`;

export type RunContextKey = { assistantId: string; threadId: string };

/**
 * Returns for each key the assistant, the thread's additions if there is one, and the number of runs ever put on the
 * thread. Returns undefined in the place of a key without an assistant.
 */
export async function runContexts(
  db: Db,
  asked: RunContextKey[],
): Promise<((RunContext & { thread_runs: number }) | undefined)[]> {
  const rows = await db.query<RunContext & { thread_runs: number; place: number }>({
    name: 'run_context',
    text: `select i.place, a.assistant_id, a.graph_id, a.version, a.config, a.context, a.metadata, t.config as thread_config, t.metadata as thread_metadata,
        coalesce(t.runs, 0) as thread_runs, ${buildThreadPinSql('t')} as thread_revision, ${buildChainSql('i')} as has_budget_chain
      from unnest(${wrapParameter('$1::uuid[]')}, ${wrapParameter('$2::uuid[]')}) with ordinality i (assistant_id, thread_id, place)
        join gx.assistant a using (assistant_id) left join lateral (
          select t.config, t.metadata, t.runs, t.revision, t.kept, t.status from gx.thread t where t.thread_id = i.thread_id limit 1) t on true`,
    values: [asked.map(({ assistantId }) => assistantId), asked.map(({ threadId }) => threadId)],
  });
  const contexts = await openRunContexts(db, rows);
  const found = new Map(contexts.map(({ place, ...context }) => [place, context]));
  return asked.map((_, at) => found.get(at + 1));
}

/** Opens the values that runs take from their assistants and threads. */
export const openRunContexts = <R extends RunContext>({ codec }: Db, rows: R[]): Promise<R[]> =>
  openRows<R>(codec, rows, {
    config: 'named',
    context: 'named',
    metadata: 'named',
    thread_config: 'named',
    thread_metadata: 'named',
  });

/** Returns how many runs wait for a worker, counted up to `most`. */
export async function countPending(db: Db, most: number): Promise<number> {
  const [row] = await db.query<{ count: number }>({
    name: 'run_count_pending',
    text: `select count(*) as count from (select 1 from gx.run where status = 'pending' limit $1) waiting`,
    values: [most],
  });
  return row?.count ?? 0;
}

export type ActiveRun = { run_id: string; status: 'pending' | 'running'; worker: string | null };

/** Locks the thread against other admissions; returns its unfinished runs, or undefined when it may not be changed. */
export async function lockActive(
  tx: Db,
  threadId: string,
  changeable?: Patterns,
): Promise<ActiveRun[] | undefined> {
  const [thread] = await tx.query({
    name: 'thread_lock',
    text: `select 1 from gx.thread where thread_id = $1 and ${buildPermitSql('metadata', '$2')} for update`,
    values: [threadId, encodePatterns(changeable)],
  });
  if (thread === undefined) return undefined;
  return tx.query<ActiveRun>({
    name: 'run_active',
    text: `select run_id, status, worker from gx.run where thread_id = $1 and status in ('pending', 'running') order by run_id for update`,
    values: [threadId],
  });
}

/** Returns the run as clients see it: one that was cancelled is interrupted, and gone if it is rolled back. */
export async function getRun(
  db: Db,
  threadId: string | undefined,
  runId: string,
  seen?: Patterns,
): Promise<Run | undefined> {
  const rows = await db.query<Run>({
    name: 'run_get',
    text: `select ${SHOWN} from gx.run where run_id = $1 and ($2::uuid is null or thread_id = $2) and not ${RUN_GONE}
      and ${buildThreadPermitSql('gx.run.thread_id', '$3')}`,
    values: [runId, threadId ?? null, encodePatterns(seen)],
  });
  return (await openRuns(db, rows))[0];
}

/** Says whether the run, and its thread, are still records. */
export async function isThere(
  db: Db,
  { run_id, thread_id }: { run_id: string; thread_id: string },
): Promise<{ run: boolean; thread: boolean }> {
  const [row] = await db.query<{ run: boolean; thread: boolean }>({
    text: `select exists (select 1 from gx.run where run_id = $1) as run, exists (select 1 from gx.thread where thread_id = $2) as thread`,
    values: [run_id, thread_id],
  });
  return row!;
}

/** Returns runs of the thread as clients see them, newest first (see `getRun`). */
export async function listRuns(
  db: Db,
  threadId: string,
  {
    limit,
    offset,
    status,
  }: { limit: number; offset: number; status?: RunStatus | 'timeout' | undefined },
): Promise<Run[]> {
  const rows = await db.query<Run>({
    name: 'run_list',
    text: `select ${SHOWN} from gx.run where thread_id = $1 and not ${RUN_GONE} and ($2::text is null or ${RUN_STATUS} = $2)
      order by created_at desc, run_id desc limit $3 offset $4`,
    values: [threadId, status ?? null, limit, offset],
  });
  return openRuns(db, rows);
}

/**
 * Where a run stands, as a process that waits for it must know: a cancelled run is under way until its worker confirms.
 */
export type RunProgress = {
  run_id: string;
  thread_id: string;
  status: RunStatus;
  worker: string | null;
  resumable: boolean;
  error: RunError | null;
  /** True while the run is rolled back, when clients no longer see it. */
  gone: boolean;
};

const PROGRESS = `run_id, thread_id, status, worker, resumable, error, ${RUN_GONE} as gone`;

/** Reads where the run stands; undefined when there is no such run. */
export async function runProgress(db: Db, runId: string): Promise<RunProgress | undefined> {
  const rows = await db.query<RunProgress>({
    name: 'run_progress',
    text: `select ${PROGRESS} from gx.run where run_id = $1`,
    values: [runId],
  });
  return (await openRuns(db, rows))[0];
}

/**
 * Registers the process as a reader of the run while the run is unfinished, and returns where it stands, in one
 * statement.
 */
export async function registerReader(
  db: Db,
  runId: string,
  reader: string,
): Promise<RunProgress | undefined> {
  const rows = await db.query<RunProgress>({
    name: 'run_reader',
    text: `with added as (
        update gx.run set readers = array_append(readers, $2::uuid)
        where run_id = $1 and status in ('pending', 'running') and not $2::uuid = any(readers)
        returning ${PROGRESS})
      select * from added union all
      select ${PROGRESS} from gx.run where run_id = $1 and not exists (select 1 from added)`,
    values: [runId, reader],
  });
  return (await openRuns(db, rows))[0];
}

/** Returns those of the given runs that are no longer unfinished (ended, or deleted). */
export async function loadEndedRunIds(db: Db, runIds: string[]): Promise<string[]> {
  const rows = await db.query<{ run_id: string }>({
    text: `select i.run_id from unnest($1::uuid[]) as i (run_id)
      where not exists (select 1 from gx.run r where r.run_id = i.run_id and r.status in ('pending', 'running'))`,
    values: [runIds],
  });
  return rows.map((row) => row.run_id);
}

/**
 * Deletes runs that have not ended in any other way (rollback, DELETE), and returns their readers. Their protocol
 * events stay for a while, so that the numbers of a thread have no hole. `tells`: their webhooks hear of the rollback.
 */
export function deleteRuns(
  db: Db,
  runIds: string[],
  { tells }: { tells: boolean },
): Promise<
  { run_id: string; thread_id: string; readers: string[]; worker: string | null; told: boolean }[]
> {
  return db.query({
    name: tells ? 'run_roll_back' : 'run_delete',
    text: `with events as (delete from gx.stream_event where run_id = any($1) and thread_seq is null),
      protocol as (update gx.stream_event set expires_at = now() + interval '120 seconds' where run_id = any($1) and thread_seq is not null)
        ${tells ? `, told as (${buildEndMessagesSql({ from: 'gx.run r', status: `'rollback'`, only: 'r.run_id = any($1)' })})` : ''}
      delete from gx.run where run_id = any($1) returning run_id, thread_id, readers, case when status = 'running' then worker end as worker,
        webhook is not null as told`,
    values: [runIds],
  });
}

/** Ends pending runs at once as interrupted. */
export function endPendingRuns(
  db: Db,
  runIds: string[],
): Promise<{ run_id: string; readers: string[]; told: boolean }[]> {
  return db.query({
    text: `with r as (
        update gx.run set status = 'interrupted', updated_at = now(), ended_at = now()
        where run_id = any($1) and status = 'pending' returning *),
      told as (${buildEndMessagesSql({ from: 'r', status: 'r.status' })})
      select run_id, readers, webhook is not null as told from r`,
    values: [runIds],
  });
}

/** Asks the workers of running runs to stop. Runs that are being rolled back stay so, and are left out. */
export function askToStop(
  db: Db,
  runIds: string[],
  action: 'interrupt' | 'rollback',
): Promise<{ run_id: string; worker: string }[]> {
  return db.query({
    text: `update gx.run set cancel = $2, updated_at = now()
      where run_id = any($1) and status = 'running' and not ${RUN_GONE} returning run_id, worker`,
    values: [runIds, action],
  });
}

type RunSelection = {
  thread_id?: string | undefined;
  run_ids?: string[] | undefined;
  status?: 'pending' | 'running' | 'all' | undefined;
  /** Whose threads' runs may be selected. */
  permitted?: Patterns;
};

/** Returns unfinished runs by ids, thread or status as clients see it, locked for the change that follows. */
export function selectActive(
  tx: Db,
  { thread_id, run_ids, status, permitted }: RunSelection,
): Promise<ActiveRun[]> {
  const statuses = status === undefined || status === 'all' ? ['pending', 'running'] : [status];
  return tx.query<ActiveRun>({
    text: `select run_id, status, worker from gx.run
      where status = any($1) and ($2::uuid is null or thread_id = $2) and ($3::uuid[] is null or run_id = any($3))
        and ($4 or cancel is null) and ${buildThreadPermitSql('gx.run.thread_id', '$5')} order by run_id for update`,
    values: [
      statuses,
      thread_id ?? null,
      run_ids ?? null,
      status === undefined,
      encodePatterns(permitted),
    ],
  });
}
