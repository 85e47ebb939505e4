import type { JsonObject } from '../../schema/agent-types.ts';
import { THREAD_FIELDS, type Thread, type ThreadSearch } from '../../schema/thread.ts';
import { copyCheckpoints, deleteCheckpoints } from './checkpoint-upkeep.ts';
import { deleteCronsOf } from './crons.ts';
import { toField } from './json-field.ts';
import { hidden } from './plans.ts';
import { patternsField, permits, permitsSearch, type Patterns } from './permits.ts';
import type { Database, Db } from './pool.ts';
import { isPlainField, LONG_TEXT, VALUES, VALUES_TO_SEARCH, valuesColumnsOf, WHOLE_STATE } from './thread-values.ts';

const UNFINISHED = `exists (select 1 from gx.run r where r.thread_id = t.thread_id and r.status in ('pending', 'running'))`;
const STATUS = `case when ${UNFINISHED} then 'busy' else t.status end`;

const EXPRESSIONS: Record<string, string> = { status: `${STATUS} as status`, values: `${VALUES} as "values"` };
const columns = (names: readonly string[]): string => names.map((name) => EXPRESSIONS[name] ?? `t.${name}`).join(', ');
const ALL = columns(THREAD_FIELDS);

export type NewThread = { thread_id: string; metadata: object };

/** Makes threads in one statement. Returns undefined in the place of a thread whose id is taken. */
export async function insertThreads(db: Db, threads: NewThread[]): Promise<(Thread | undefined)[]> {
  const rows = await db.query<Thread>({
    name: 'thread_insert',
    text: `insert into gx.thread as t (thread_id, metadata) select * from unnest($1::uuid[], $2::jsonb[]) on conflict (thread_id) do nothing
      returning ${ALL}`,
    values: [threads.map(({ thread_id }) => thread_id), threads.map(({ metadata }) => toField(metadata))],
  });
  const made = new Map(rows.map((thread) => [thread.thread_id, thread]));
  return threads.map(({ thread_id }) => {
    const thread = made.get(thread_id);
    // Where the same id comes twice in one statement, the first has it.
    made.delete(thread_id);
    return thread;
  });
}

/** Returns the thread; undefined when it is not there, or may not be seen. */
export async function getThread(db: Db, threadId: string, seen?: Patterns): Promise<Thread | undefined> {
  const [thread] = await db.query<Thread>({
    name: 'thread_get',
    text: `select ${ALL} from gx.thread t where t.thread_id = $1 and ${permits('t.metadata', '$2')}`,
    values: [threadId, patternsField(seen)],
  });
  return thread;
}

/** What questions about a thread's state need to know of the thread. */
export type ThreadHead = Pick<Thread, 'thread_id' | 'created_at' | 'status'> & { graph_id: string | null };

/** Returns the thread without its state, which may be large; undefined when it is not there, or may not be touched. */
export async function threadHead(db: Db, threadId: string, permitted?: Patterns): Promise<ThreadHead | undefined> {
  const [head] = await db.query<ThreadHead>({
    name: 'thread_head',
    text: `select t.thread_id, t.created_at, ${STATUS} as status, t.metadata->>'graph_id' as graph_id from gx.thread t
      where t.thread_id = $1 and ${permits('t.metadata', '$2')}`,
    values: [threadId, patternsField(permitted)],
  });
  return head;
}

/**
 * Returns the configuration, with its context, of the thread's last run that was started. Without such a run, it is
 * that of the thread's assistant, or of the given one where the thread names none.
 */
export async function lastConfig(db: Db, threadId: string, assistantId: string): Promise<JsonObject | undefined> {
  const [row] = await db.query<{ config: JsonObject }>({
    name: 'thread_last_config',
    text: `(select kwargs->'config' || jsonb_build_object('context', kwargs->'context') as config from gx.run
        where thread_id = $1 and started_at is not null order by created_at desc, run_id desc limit 1)
      union all (select a.config || jsonb_build_object('context', a.context) from gx.assistant a
        where a.assistant_id::text = coalesce((select metadata->>'assistant_id' from gx.thread where thread_id = $1), $2))
      limit 1`,
    values: [threadId, assistantId],
  });
  return row?.config;
}

export async function patchThread(db: Db, threadId: string, metadata: object, changeable?: Patterns): Promise<Thread | undefined> {
  const [thread] = await db.query<Thread>({
    name: 'thread_patch',
    text: `update gx.thread t set metadata = t.metadata || $2, updated_at = now()
      where t.thread_id = $1 and ${permits('t.metadata', '$3')} returning ${ALL}`,
    values: [threadId, toField(metadata), patternsField(changeable)],
  });
  return thread;
}

export type ThreadRest = { status: 'idle' | 'interrupted' | 'error'; values: unknown; interrupts: unknown; metadata?: object };

/**
 * Writes where the thread rests after its state was changed by hand. The change counts as a run does, so that a run
 * that is being made looks at the thread again.
 */
export async function setThreadState(db: Db, threadId: string, { status, values, interrupts, metadata = {} }: ThreadRest): Promise<void> {
  const { values: short, long } = valuesColumnsOf(values);
  await db.query({
    text: `update gx.thread set status = $2, "values" = $3, interrupts = $4, metadata = metadata || $5, error = null, updated_at = now(),
        state_updated_at = now(), ${WHOLE_STATE('$6')}, runs = runs + 1
      where thread_id = $1`,
    values: [threadId, status, short, toField(interrupts), toField(metadata), long],
  });
}

/** Returns how many runs, and changes of its state by hand, a thread has had; undefined when it is gone. */
export async function runsOf(db: Db, threadId: string): Promise<number | undefined> {
  const [thread] = await db.query<{ runs: number }>({ text: 'select runs from gx.thread where thread_id = $1', values: [threadId] });
  return thread?.runs;
}

/**
 * Writes where the thread rests after a run that could not say so itself. When another run was made since, that run
 * will write it. `runs` is what `runsOf` returned before the state was read.
 */
export async function refreshThreadState(
  db: Db,
  threadId: string,
  { values, interrupts, waiting, runs }: { values: unknown; interrupts: object; waiting: boolean; runs: number },
): Promise<void> {
  const { values: short, long } = valuesColumnsOf(values);
  await db.query({
    text: `update gx.thread t set "values" = $2, interrupts = $3, state_updated_at = now(), ${WHOLE_STATE('$6')},
        status = case when status = 'idle' and $4 then 'interrupted' else status end
      where thread_id = $1 and runs = $5 and not ${UNFINISHED}`,
    values: [threadId, short, toField(interrupts), waiting, runs, long],
  });
}

/** Deletes threads with all that belongs to them; returns those that there were, and that might be deleted. */
export function deleteThreads(db: Database, threadIds: string[], deletable?: Patterns): Promise<string[]> {
  return db.transaction(async (tx) => {
    // A cron that fires holds its row before its thread, and so does this.
    await deleteCronsOf(tx, threadIds, deletable);
    const rows = await tx.query<{ thread_id: string }>({
      name: 'thread_delete',
      text: `delete from gx.thread where thread_id in (select thread_id from gx.thread
          where thread_id = any($1) and ${permits('metadata', '$2')} order by thread_id for update)
        returning thread_id`,
      values: [threadIds, patternsField(deletable)],
    });
    // What a thread left behind goes too, unless the thread is there and may not be deleted.
    const gone = deletable === undefined ? threadIds : rows.map((row) => row.thread_id);
    // A cron may have been made in between.
    await deleteCronsOf(tx, gone);
    await deleteCheckpoints(tx, gone);
    // Protocol events and others are found by different indexes.
    for (const kind of ['is null', 'is not null'])
      await tx.query({ text: `delete from gx.stream_event where thread_id = any($1) and thread_seq ${kind}`, values: [gone] });
    await tx.query({ text: 'delete from gx.feedback where thread_id = any($1)', values: [gone] });
    return rows.map((row) => row.thread_id);
  });
}

/**
 * Removes a temporary thread, which has no checkpoints and one run: at once, or a little later when another process
 * must still read it.
 */
export async function retireThread(db: Db, threadId: string, { afterSeconds }: { afterSeconds: number }): Promise<void> {
  if (afterSeconds > 0)
    await db.query({
      name: 'thread_retire',
      text: `update gx.thread set remove_after = now() + $2 * interval '1 second' where thread_id = $1`,
      values: [threadId, afterSeconds],
    });
  else await db.query({ name: 'thread_remove', text: 'delete from gx.thread where thread_id = $1', values: [threadId] });
}

export async function deleteRetiredThreads(db: Db): Promise<number> {
  const rows = await db.query({ text: `delete from gx.thread t where t.remove_after < now() and not ${UNFINISHED} returning 1` });
  return rows.length;
}

/**
 * Makes a copy with its own id, all checkpoints and the given labels besides; returns undefined when there is no such
 * thread, or it may not be seen.
 */
export function copyThread(
  db: Database,
  threadId: string,
  { copyId, labels, seen }: { copyId: string; labels: object; seen: Patterns },
): Promise<Thread | undefined> {
  return db.transaction(async (tx) => {
    const [copy] = await tx.query<Thread>({
      text: `insert into gx.thread as t (thread_id, metadata, config, "values", long_values, long_values_at, interrupts)
        select $2, s.metadata || $3, s.config, s."values", s.long_text, case when s.long_text is not null then now() end, s.interrupts
        from (select t.*, ${LONG_TEXT} as long_text from gx.thread t where t.thread_id = $1) s
        where ${permits('s.metadata', '$4')} returning ${ALL}`,
      values: [threadId, copyId, toField(labels), patternsField(seen)],
    });
    if (copy !== undefined) await copyCheckpoints(tx, threadId, copyId);
    return copy;
  });
}

type Filters = Pick<ThreadSearch, 'metadata' | 'values' | 'status' | 'ids'> & { seen?: Patterns };

/** The fields of a state that are neither objects nor lists, as index thread_values has them. */
const SCALARS = `jsonb_path_query_array(t."values", '$.keyvalue() ? (@.value.type() != "object" && @.value.type() != "array")', '{}', true)`;

/** Decides, in one place, which threads a search may see. */
function where({ metadata, values, status, ids, seen }: Filters, parameters: unknown[]): string {
  const parameter = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = ['not t.temporary', ...permitsSearch('t.metadata', seen, parameter)];
  if (metadata && Object.keys(metadata).length > 0) conditions.push(`t.metadata @> ${parameter(toField(metadata))}`);
  if (values && Object.keys(values).length > 0) {
    const indexed = Object.entries(values).filter(([, value]) => isPlainField(value));
    if (indexed.length > 0) conditions.push(`${SCALARS} @> ${parameter(toField(indexed.map(([key, value]) => ({ key, value }))))}`);
    const isPlain = indexed.length === Object.keys(values).length;
    conditions.push(`${isPlain ? 't."values"' : VALUES_TO_SEARCH} @> ${parameter(toField(values))}`);
  }
  if (status === 'busy') conditions.push(UNFINISHED);
  else if (status) conditions.push(`t.status = ${parameter(status)}`, `not ${UNFINISHED}`);
  if (ids) conditions.push(`t.thread_id = any(${parameter(ids)}::uuid[])`);
  return conditions.join(' and ');
}

/** Returns one row more than asked for, where there is a next page. */
export function searchThreads(db: Db, search: ThreadSearch & { seen?: Patterns }): Promise<Partial<Thread>[]> {
  const parameters: unknown[] = [];
  const fields: readonly string[] =
    search.select && search.select.length > 0 && !search.extract ? [...new Set(search.select)] : THREAD_FIELDS;
  const text = search.sort_by === 'status' ? byStatus(search, fields, parameters) : byColumn(search, fields, parameters);
  return db.query<Partial<Thread>>({ text, values: parameters });
}

function byColumn(search: ThreadSearch & { seen?: Patterns }, fields: readonly string[], parameters: unknown[]): string {
  const condition = where(search, parameters);
  const page = `limit $${parameters.push(search.limit + 1)} offset $${parameters.push(search.offset)}`;
  return `select ${columns(fields)} from gx.thread t where ${condition}
    order by t.${search.sort_by ?? 'updated_at'} ${search.sort_order ?? 'desc'}, t.thread_id ${page}`;
}

/**
 * The statuses in the order of their names. An index can't sort by "busy", which is no column, so the pages of each
 * status are put together.
 */
const STATUSES = ['busy', 'error', 'idle', 'interrupted'] as const;

function byStatus(search: ThreadSearch & { seen?: Patterns }, fields: readonly string[], parameters: unknown[]): string {
  const [first, page] = [`$${parameters.push(search.limit + 1 + search.offset)}`, `$${parameters.push(search.limit + 1)}`];
  const wanted = STATUSES.filter((status) => search.status === undefined || search.status === null || search.status === status);
  const parts = (search.sort_order === 'asc' ? wanted : wanted.toReversed()).map(
    (status, rank) => `(select ${rank} as gx_rank, t.updated_at as gx_at, t.thread_id as gx_id, ${columns(fields)} from gx.thread t
      where ${where({ ...search, status }, parameters)} order by t.updated_at desc, t.thread_id limit ${first})`,
  );
  return `select ${fields.map((name) => `"${name}"`).join(', ')} from (${parts.join(' union all ')}) t
    order by gx_rank, gx_at desc, gx_id limit ${page} offset $${parameters.push(search.offset)}`;
}

export async function countThreads(db: Db, filters: Filters): Promise<number> {
  const parameters: unknown[] = [];
  const [row] = await db.query<{ count: number }>({
    text: `select count(*) as count from gx.thread t where ${where(filters, parameters)}`,
    values: parameters,
  });
  return row?.count ?? 0;
}

/** What a thread waits for, and the assistant that it waits with: all that a command that answers needs. */
export type ThreadQuestions = {
  status: Thread['status'];
  interrupts: Record<string, { id?: string }[]>;
  assistant_id: string | null;
  graph_id: string | null;
};

/** Returns, in the order of the ids, what each thread waits for; undefined for a missing thread. */
export async function threadQuestions(db: Db, threadIds: string[]): Promise<(ThreadQuestions | undefined)[]> {
  const rows = await db.query<ThreadQuestions & { thread_id: string }>({
    name: 'thread_questions',
    text: `select t.thread_id, ${STATUS} as status, t.interrupts, t.metadata->>'assistant_id' as assistant_id,
        t.metadata->>'graph_id' as graph_id
      from gx.thread t where t.thread_id = any(${hidden('$1::uuid[]')}::uuid[])`,
    values: [threadIds],
  });
  const found = new Map(rows.map(({ thread_id, ...questions }) => [thread_id, questions]));
  return threadIds.map((id) => found.get(id));
}
