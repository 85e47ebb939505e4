import type { JsonObject } from '../../schema/agent-types.ts';
import type { MultitaskStrategy, Run, RunError, RunKwargs, RunStatus } from '../../schema/run.ts';
import { toField } from './json-field.ts';
import type { Db } from './pool.ts';
import { LAST_SEQ_FOR_RUN } from './protocol-events.ts';

/** What a run takes from its assistant and its thread. */
export type RunContext = {
  assistant_id: string;
  graph_id: string;
  config: JsonObject;
  context: JsonObject;
  metadata: JsonObject;
  thread_config: JsonObject | null;
  thread_metadata: JsonObject | null;
};

export type NewRun = {
  run_id: string;
  thread_id: string;
  assistant_id: string;
  graph_id: string;
  metadata: object;
  kwargs: RunKwargs;
  multitask_strategy: MultitaskStrategy;
  after_seconds: number;
  /** Processes that already wait for what the run says. */
  readers: string[];
  thread: { create: boolean; metadata: object; runs: number };
};

/** Returns the SQL of another store's insert, which joins our statement, with its parameter at the given position. */
export type TicketSql = (parameter: number) => string;

/** True for a run that somebody cancelled, and whose worker has not confirmed it yet. */
const STOPPING = `(cancel is not null and status in ('pending', 'running'))`;

/*
 * From the statement that takes a cancel on, clients see the run as it will end: interrupted, or gone when it is rolled
 * back. The row keeps the status until the worker confirms, because the thread is busy until then.
 */
const STATUS = `case when ${STOPPING} then 'interrupted' else status end`;
const GONE = `(${STOPPING} and cancel = 'rollback')`;

const SHOWN = `run_id, thread_id, assistant_id, created_at, updated_at, ${STATUS} as status, metadata, kwargs, multitask_strategy`;

/** Seconds after a temporary thread's due time at which others remove it, because its worker died before it did so. */
const FORGOTTEN = 300;

/** A worker that has a free slot for the run that is being made. */
export type Starter = { worker: string; leaseSeconds: number };

/**
 * `thread_readers` are processes that follow the whole thread. `empty`: the thread has no checkpoint. `thread_seq` is
 * the number of its last protocol event, when the run publishes such events.
 */
export type Inserted = { run: Run; thread_readers: string[]; empty: boolean; thread_seq: number };

/** True when no run was added to the thread since the caller looked, and none has to go first. */
const FREE = `t.runs = $15 and not exists (
    select 1 from gx.run x where x.thread_id = t.thread_id and (x.status = 'running' or (x.status = 'pending' and x.due_at <= now())))`;

/**
 * Inserts thread, run and ticket in one statement. With a starter, the run is that worker's at once if its thread is
 * free, and needs no ticket; otherwise it comes back as pending. Returns undefined when the thread is missing and must
 * not be made.
 */
export async function insertRun(
  db: Db,
  run: NewRun,
  ticket: { sql: TicketSql; payload: string },
  starter?: Starter,
): Promise<Inserted | undefined> {
  const { kwargs, thread } = run;
  const thread_ = thread.create
    ? `insert into gx.thread as t (thread_id, metadata, temporary, runs, remove_after)
        values ($2, $10, $8, 1, case when $8 then now() + ($12::float8 + ${FORGOTTEN}) * interval '1 second' end)
        on conflict (thread_id) do update set metadata = t.metadata || excluded.metadata, updated_at = now(), runs = t.runs + 1`
    : 'update gx.thread t set metadata = t.metadata || $10, updated_at = now(), runs = t.runs + 1 where thread_id = $2';
  const [row] = await db.query<Run & Omit<Inserted, 'run'>>({
    name: thread.create ? 'run_insert_with_thread' : 'run_insert',
    text: `with t as (${thread_} returning thread_id, runs, readers, event_seq),
      ticket as (${ticket.sql(13)}),
      s as (select t.thread_id, $14::uuid is not null and ${FREE} as starts from t),
      r as (insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, attempt, worker, lease_until, started_at, begun,
          metadata, kwargs, multitask_strategy, temporary, resumable, readers, due_at, created_at)
        select $1, s.thread_id, $3, $4, case when starts then 'running' else 'pending' end, case when starts then 1 else 0 end,
          case when starts then $14::uuid end, case when starts then now() + $16 * interval '1 second' end, case when starts then now() end, case when starts then false end,
          $5, $6, $7, $8, $9, $11, now() + $12 * interval '1 second', now() + $12 * interval '1 second'
        from s returning ${SHOWN})
      select r.*, t.readers as thread_readers, not exists (select 1 from gx.checkpoints c where c.thread_id = $2::text) as empty, ${LAST_SEQ_FOR_RUN} as thread_seq from r, t`,
    values: [
      run.run_id,
      run.thread_id,
      run.assistant_id,
      run.graph_id,
      toField(run.metadata),
      toField(kwargs),
      run.multitask_strategy,
      kwargs.temporary,
      kwargs.resumable,
      toField(thread.metadata),
      run.readers,
      run.after_seconds,
      ticket.payload,
      starter?.worker ?? null,
      thread.runs + 1,
      starter?.leaseSeconds ?? 0,
    ],
  });
  if (row === undefined) return undefined;
  const { thread_readers, empty, thread_seq, ...made } = row;
  return { run: made, thread_readers, empty, thread_seq };
}

export type RunContextKey = { assistantId: string; threadId: string };

/**
 * Returns for each key the assistant, what the thread adds if there is one, and the number of runs ever put on the
 * thread. Returns undefined in the place of a key without an assistant.
 */
export async function runContexts(db: Db, asked: RunContextKey[]): Promise<((RunContext & { thread_runs: number }) | undefined)[]> {
  const rows = await db.query<RunContext & { thread_runs: number; place: number }>({
    name: 'run_context',
    text: `select i.place, a.assistant_id, a.graph_id, a.config, a.context, a.metadata, t.config as thread_config, t.metadata as thread_metadata,
        coalesce(t.runs, 0) as thread_runs
      from unnest($1::uuid[], $2::uuid[]) with ordinality i (assistant_id, thread_id, place)
        join gx.assistant a using (assistant_id) left join gx.thread t using (thread_id)`,
    values: [asked.map(({ assistantId }) => assistantId), asked.map(({ threadId }) => threadId)],
  });
  const found = new Map(rows.map(({ place, ...context }) => [place, context]));
  return asked.map((_, at) => found.get(at + 1));
}

export type ActiveRun = { run_id: string; status: 'pending' | 'running'; worker: string | null };

/**
 * Locks the thread against other admissions and returns its unfinished runs; undefined when there is no such thread.
 */
export async function lockActive(tx: Db, threadId: string): Promise<ActiveRun[] | undefined> {
  const [thread] = await tx.query({
    name: 'thread_lock',
    text: 'select 1 from gx.thread where thread_id = $1 for update',
    values: [threadId],
  });
  if (thread === undefined) return undefined;
  return tx.query<ActiveRun>({
    name: 'run_active',
    text: `select run_id, status, worker from gx.run where thread_id = $1 and status in ('pending', 'running') order by run_id for update`,
    values: [threadId],
  });
}

/** Returns the run as clients see it: one that was cancelled is interrupted, and gone if it is rolled back. */
export async function getRun(db: Db, threadId: string | undefined, runId: string): Promise<Run | undefined> {
  const [run] = await db.query<Run>({
    name: 'run_get',
    text: `select ${SHOWN} from gx.run where run_id = $1 and ($2::uuid is null or thread_id = $2) and not ${GONE}`,
    values: [runId, threadId ?? null],
  });
  return run;
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

type ListRuns = { limit: number; offset: number; status?: RunStatus | undefined };

/** Returns runs of the thread as clients see them, newest first (see `getRun`). */
export function listRuns(db: Db, threadId: string, { limit, offset, status }: ListRuns): Promise<Run[]> {
  return db.query<Run>({
    name: 'run_list',
    text: `select ${SHOWN} from gx.run where thread_id = $1 and not ${GONE} and ($2::text is null or ${STATUS} = $2)
      order by created_at desc, run_id desc limit $3 offset $4`,
    values: [threadId, status ?? null, limit, offset],
  });
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

const PROGRESS = `run_id, thread_id, status, worker, resumable, error, ${GONE} as gone`;

/** Reads where the run stands; undefined when there is no such run. */
export async function runProgress(db: Db, runId: string): Promise<RunProgress | undefined> {
  const [run] = await db.query<RunProgress>({
    name: 'run_progress',
    text: `select ${PROGRESS} from gx.run where run_id = $1`,
    values: [runId],
  });
  return run;
}

/**
 * Registers the process as a reader of the run while the run is unfinished, and returns where it stands, in one
 * statement.
 */
export async function registerReader(db: Db, runId: string, reader: string): Promise<RunProgress | undefined> {
  const [run] = await db.query<RunProgress>({
    name: 'run_reader',
    text: `with added as (
        update gx.run set readers = array_append(readers, $2::uuid)
        where run_id = $1 and status in ('pending', 'running') and not $2::uuid = any(readers)
        returning ${PROGRESS})
      select * from added union all
      select ${PROGRESS} from gx.run where run_id = $1 and not exists (select 1 from added)`,
    values: [runId, reader],
  });
  return run;
}

/** Returns those of the given runs that are no longer unfinished (ended, or deleted). */
export async function endedOf(db: Db, runIds: string[]): Promise<string[]> {
  const rows = await db.query<{ run_id: string }>({
    text: `select i.run_id from unnest($1::uuid[]) as i (run_id)
      where not exists (select 1 from gx.run r where r.run_id = i.run_id and r.status in ('pending', 'running'))`,
    values: [runIds],
  });
  return rows.map((row) => row.run_id);
}

/**
 * Deletes runs that have not ended in any other way (rollback, DELETE), and returns their readers. Their protocol
 * events stay for a while, so that the numbers of a thread have no hole.
 */
export function deleteRuns(
  db: Db,
  runIds: string[],
): Promise<{ run_id: string; thread_id: string; readers: string[]; worker: string | null }[]> {
  return db.query({
    name: 'run_delete',
    text: `with events as (delete from gx.stream_event where run_id = any($1) and thread_seq is null),
      protocol as (update gx.stream_event set expires_at = now() + interval '120 seconds' where run_id = any($1) and thread_seq is not null)
      delete from gx.run where run_id = any($1) returning run_id, thread_id, readers, case when status = 'running' then worker end as worker`,
    values: [runIds],
  });
}

/** Ends pending runs at once as interrupted. */
export function interruptPending(db: Db, runIds: string[]): Promise<{ run_id: string; readers: string[] }[]> {
  return db.query({
    text: `update gx.run set status = 'interrupted', updated_at = now(), ended_at = now()
      where run_id = any($1) and status = 'pending' returning run_id, readers`,
    values: [runIds],
  });
}

/** Asks the workers of running runs to stop. Runs that are being rolled back stay so, and are left out. */
export function askToStop(db: Db, runIds: string[], action: 'interrupt' | 'rollback'): Promise<{ run_id: string; worker: string }[]> {
  return db.query({
    text: `update gx.run set cancel = $2, updated_at = now()
      where run_id = any($1) and status = 'running' and not ${GONE} returning run_id, worker`,
    values: [runIds, action],
  });
}

type RunSelection = { thread_id?: string | undefined; run_ids?: string[] | undefined; status?: 'pending' | 'running' | 'all' | undefined };

/** Returns unfinished runs by ids, thread or status as clients see it, locked for the change that follows. */
export function selectActive(tx: Db, { thread_id, run_ids, status }: RunSelection): Promise<ActiveRun[]> {
  const statuses = status === undefined || status === 'all' ? ['pending', 'running'] : [status];
  return tx.query<ActiveRun>({
    text: `select run_id, status, worker from gx.run
      where status = any($1) and ($2::uuid is null or thread_id = $2) and ($3::uuid[] is null or run_id = any($3))
        and ($4 or cancel is null) order by run_id for update`,
    values: [statuses, thread_id ?? null, run_ids ?? null, status === undefined],
  });
}
