import { Conflict } from '../../../errors.ts';
import type { RunKwargs } from '../../../schema/agent/run.ts';
import type { ThreadTtl } from '../../../schema/agent/expiry.ts';
import type { Thread } from '../../../schema/agent/thread.ts';
import { openNamed } from '../../encryption/codec.ts';
import { deleteCheckpoints } from './checkpoint-upkeep.ts';
import { deleteCronsOf } from '../crons/crons.ts';
import { buildKeyInsertSql, refuseTaken } from '../base/idempotency-keys.ts';
import { wrapParameter } from '../base/plans.ts';
import type { RequestKey } from '../../kernel/request-key.ts';
import { encodePatterns, buildPermitSql, type Patterns } from '../base/permits.ts';
import type { Database, Db } from '../base/pool.ts';
import { openRuns } from '../fields/run-fields.ts';
import { buildThreadPinSql } from '../runs/revisions.ts';
import { runUnderContext, type EncryptionContext } from '../../kernel/encryption-context.ts';
import { sealNamedField, sealField } from '../fields/sealed-fields.ts';
import {
  buildThreadInterruptsPlace,
  sealStateColumns,
  buildWholeStateSql,
} from '../fields/thread-values.ts';
import { ALL_OF_THREAD, openThreads, THREAD_STATUS, UNFINISHED } from '../fields/thread-fields.ts';
import type { Json } from '../../../schema/json.ts';

export type NewThread = { thread_id: string; metadata: object; ttl?: ThreadTtl | undefined };

/** `context`: the one that its metadata is encrypted under. */
export type ThreadOfMany = NewThread & { context?: EncryptionContext | undefined };

/** Makes threads in one statement. Returns undefined in the place of a thread whose id is taken. */
export async function insertThreads(
  db: Db,
  threads: ThreadOfMany[],
): Promise<(Thread | undefined)[]> {
  const rows = await db.query<Thread>({
    name: 'thread_insert',
    text: `insert into gx.thread as t (thread_id, metadata, ttl) select * from unnest($1::uuid[], $2::jsonb[], $3::jsonb[]) on conflict (thread_id) do nothing
      returning ${ALL_OF_THREAD}`,
    values: [
      threads.map(({ thread_id }) => thread_id),
      await Promise.all(
        threads.map(({ metadata, context }) =>
          runUnderContext(context, () => sealNamedField(db, 'thread.metadata', metadata)),
        ),
      ),
      threads.map(({ ttl }) => (ttl === undefined ? null : JSON.stringify(ttl))),
    ],
  });
  const made = new Map((await openThreads(db, rows)).map((thread) => [thread.thread_id, thread]));
  return threads.map(({ thread_id }) => {
    const thread = made.get(thread_id);
    // Where the same id comes twice in one statement, the first has it.
    made.delete(thread_id);
    return thread;
  });
}

/**
 * Makes a thread for a request that is carried out once. Returns undefined when the id is taken, and throws `Conflict`
 * when the key is kept already.
 */
export async function insertThreadOnce(
  db: Db,
  { thread_id, metadata, ttl }: NewThread,
  { key, request }: RequestKey,
): Promise<Thread | undefined> {
  const rows = await db
    .query<Thread>({
      name: 'thread_insert_once',
      // An id that is taken undoes the statement, so that its key is not kept.
      text: `with kept as (${buildKeyInsertSql('values ($4, $5, array[$1::uuid])')})
        insert into gx.thread as t (thread_id, metadata, ttl) select $1, $2, $3 from kept returning ${ALL_OF_THREAD}`,
      values: [
        thread_id,
        await sealNamedField(db, 'thread.metadata', metadata),
        ttl === undefined ? null : JSON.stringify(ttl),
        key,
        request,
      ],
    })
    .catch((error: unknown) => {
      if (error instanceof Conflict) return undefined;
      throw error;
    });
  if (rows === undefined) return undefined;
  return (await openThreads(db, rows))[0] ?? refuseTaken();
}

/** Returns the thread; undefined when it is not there, or may not be seen. */
export async function getThread(
  db: Db,
  threadId: string,
  seen?: Patterns,
): Promise<Thread | undefined> {
  const threads = await db.query<Thread>({
    name: 'thread_get',
    text: `select ${ALL_OF_THREAD} from gx.thread t where t.thread_id = $1 and ${buildPermitSql('t.metadata', '$2')}`,
    values: [threadId, encodePatterns(seen)],
  });
  return (await openThreads(db, threads))[0];
}

/** The fields of a thread that calls about its state need. */
export type ThreadHead = Thread & {
  graph_id: string | null;
  /** The living revision that it is pinned to. */
  revision: string | null;
};

/** Returns the thread without its state, which may be large; undefined when it is not there, or may not be touched. */
export async function loadThreadHead(
  db: Db,
  threadId: string,
  permitted?: Patterns,
): Promise<ThreadHead | undefined> {
  const [head] = await db.query<ThreadHead>({
    name: 'thread_head',
    text: `select t.thread_id, t.created_at, ${THREAD_STATUS} as status, t.metadata->>'graph_id' as graph_id,
        ${buildThreadPinSql('t')} as revision
      from gx.thread t where t.thread_id = $1 and ${buildPermitSql('t.metadata', '$2')}`,
    values: [threadId, encodePatterns(permitted)],
  });
  return head;
}

/**
 * Returns the configuration, with its context, of the thread's last run that was started. Without such a run, it is
 * that of the thread's assistant, or of the given one where the thread names none.
 */
export async function loadLastConfig(
  db: Db,
  threadId: string,
  assistantId: string,
): Promise<Json | undefined> {
  const [run] = await openRuns(
    db,
    await db.query<{ run_id: string; kwargs: RunKwargs }>({
      name: 'thread_last_kwargs',
      text: `select run_id, kwargs from gx.run where thread_id = $1 and started_at is not null order by created_at desc, run_id desc limit 1`,
      values: [threadId],
    }),
  );
  if (run !== undefined) return { ...run.kwargs.config, context: run.kwargs.context };
  const [assistant] = await db.query<{ config: Json }>({
    name: 'thread_assistant_config',
    text: `select a.config || jsonb_build_object('context', a.context) as config from gx.assistant a
      where a.assistant_id::text = coalesce((select metadata->>'assistant_id' from gx.thread where thread_id = $1), $2)`,
    values: [threadId, assistantId],
  });
  return openNamed(db.codec, assistant?.config);
}

/** Merges metadata into a thread, and sets how long it lives, if that is given. */
export async function patchThread(
  db: Db,
  threadId: string,
  { metadata, ttl }: Omit<NewThread, 'thread_id'>,
  changeable?: Patterns,
): Promise<Thread | undefined> {
  const threads = await db.query<Thread>({
    name: 'thread_patch',
    text: `update gx.thread t set metadata = t.metadata || $2, ttl = coalesce($4, t.ttl), updated_at = now()
      where t.thread_id = $1 and ${buildPermitSql('t.metadata', '$3')} returning ${ALL_OF_THREAD}`,
    values: [
      threadId,
      await sealNamedField(db, 'thread.metadata', metadata),
      encodePatterns(changeable),
      ttl === undefined ? null : JSON.stringify(ttl),
    ],
  });
  return (await openThreads(db, threads))[0];
}

/** `holder` is who holds the thread meanwhile (see `holdThread`). */
export type ThreadRest = {
  status: 'idle' | 'interrupted' | 'error';
  values: unknown;
  interrupts: unknown;
  metadata?: object;
  holder?: string;
};

/**
 * Writes where the thread rests after its state was changed by hand, and lets go of it. The change counts as a run
 * does, so that a run that is being made looks at the thread again. Returns false, and writes nothing, when the thread
 * is gone or is no longer the holder's.
 */
export async function setThreadState(db: Db, threadId: string, rest: ThreadRest): Promise<boolean> {
  const { status, values, interrupts, metadata = {}, holder = null } = rest;
  const { values: short, long } = await sealStateColumns(db, threadId, values);
  const sealed = [
    await sealField(db, buildThreadInterruptsPlace(threadId), interrupts),
    await sealNamedField(db, 'thread.metadata', metadata),
  ];
  const rows = await db.query({
    text: `update gx.thread set status = $2, "values" = $3, interrupts = $4, metadata = metadata || $5, error = null, updated_at = now(),
        state_updated_at = now(), ${buildWholeStateSql('$6')}, runs = runs + 1, held_until = null, holder = null
      where thread_id = $1 and holder is not distinct from $7::uuid returning 1`,
    values: [threadId, status, short, ...sealed, long, holder],
  });
  return rows.length > 0;
}

/** Returns how many runs, and changes of its state by hand, a thread has had; undefined when it is gone. */
export async function loadRunCount(db: Db, threadId: string): Promise<number | undefined> {
  const [thread] = await db.query<{ runs: number }>({
    text: 'select runs from gx.thread where thread_id = $1',
    values: [threadId],
  });
  return thread?.runs;
}

/**
 * Writes where the thread rests after a run that could not say so itself. When another run was made since, that run
 * will write it. `runs` is the result of `runsOf` from before the state was read.
 */
export async function refreshThreadState(
  db: Db,
  threadId: string,
  {
    values,
    interrupts,
    waiting,
    runs,
  }: { values: unknown; interrupts: object; waiting: boolean; runs: number },
): Promise<void> {
  const { values: short, long } = await sealStateColumns(db, threadId, values);
  await db.query({
    text: `update gx.thread t set "values" = $2, interrupts = $3, state_updated_at = now(), ${buildWholeStateSql('$6')},
        status = case when status = 'idle' and $4 then 'interrupted' else status end
      where thread_id = $1 and runs = $5 and not ${UNFINISHED}`,
    values: [
      threadId,
      short,
      await sealField(db, buildThreadInterruptsPlace(threadId), interrupts),
      waiting,
      runs,
      long,
    ],
  });
}

/** Deletes threads with all that belongs to them; returns those that there were, and that might be deleted. */
export function deleteThreads(
  db: Database,
  threadIds: string[],
  deletable?: Patterns,
): Promise<string[]> {
  return db.transaction(async (tx) => {
    // A cron that fires holds its row before its thread, and so does this.
    await deleteCronsOf(tx, threadIds, deletable);
    const rows = await tx.query<{ thread_id: string }>({
      name: 'thread_delete',
      text: `delete from gx.thread where thread_id in (select thread_id from gx.thread
          where thread_id = any($1) and ${buildPermitSql('metadata', '$2')} order by thread_id for update)
        returning thread_id`,
      values: [threadIds, encodePatterns(deletable)],
    });
    // A thread's other rows go too, unless the thread is there and may not be deleted.
    const gone = deletable === undefined ? threadIds : rows.map((row) => row.thread_id);
    await deleteRestOf(tx, gone);
    return rows.map((row) => row.thread_id);
  });
}

async function deleteRestOf(tx: Db, threadIds: string[]): Promise<void> {
  const values = [threadIds];
  // A cron may have been made after the others were deleted.
  await deleteCronsOf(tx, threadIds);
  await deleteCheckpoints(tx, threadIds);
  // Protocol events and others are found by different indexes.
  for (const kind of ['is null', 'is not null'])
    await tx.query({
      text: `delete from gx.stream_event where thread_id = any($1) and thread_seq ${kind}`,
      values,
    });
  await tx.query({ text: 'delete from gx.feedback where thread_id = any($1)', values });
}

/** Deletes threads that the transaction holds, and that no cron fires on. */
export async function deleteThreadRows(tx: Db, threadIds: string[]): Promise<void> {
  // Their runs go in one statement, which the threads would have removed one by one.
  await tx.query({
    name: 'thread_runs_delete',
    text: 'delete from gx.run where thread_id = any($1)',
    values: [threadIds],
  });
  await tx.query({
    name: 'thread_rows_delete',
    text: 'delete from gx.thread where thread_id = any($1)',
    values: [threadIds],
  });
  await deleteRestOf(tx, threadIds);
}

/**
 * Removes a temporary thread, which has no checkpoints and one run: at once, or a little later when another process
 * must still read it, or its request may come again. Nobody answers its questions, so it does not count as one that
 * waits.
 */
export async function removeTemporaryThread(
  db: Db,
  threadId: string,
  { afterSeconds }: { afterSeconds: number },
): Promise<void> {
  if (afterSeconds > 0)
    await db.query({
      name: 'thread_retire',
      text: `update gx.thread set remove_after = now() + $2 * interval '1 second',
          status = case status when 'interrupted' then 'idle' else status end where thread_id = $1`,
      values: [threadId, afterSeconds],
    });
  else
    await db.query({
      name: 'thread_remove',
      text: 'delete from gx.thread where thread_id = $1',
      values: [threadId],
    });
}

/** Makes a temporary thread one that stays. */
export async function keepThread(db: Db, threadId: string): Promise<void> {
  await db.query({
    text: 'update gx.thread set temporary = false, remove_after = null where thread_id = $1',
    values: [threadId],
  });
}

export async function deleteRetiredThreads(db: Db): Promise<number> {
  const rows = await db.query({
    text: `delete from gx.thread t where t.remove_after < now() and not ${UNFINISHED} returning 1`,
  });
  return rows.length;
}

/**
 * The questions of a thread, and the assistant that asks them: all that a command that answers needs. `runs`: how many
 * runs, and changes of its state by hand, the thread has had.
 */
export type ThreadQuestions = {
  status: Thread['status'];
  runs: number;
  interrupts: Record<string, { id?: string }[]>;
  assistant_id: string | null;
  graph_id: string | null;
};

/** Returns, in the order of the ids, the questions of each thread; undefined for a missing thread. */
export async function loadThreadQuestions(
  db: Db,
  threadIds: string[],
): Promise<(ThreadQuestions | undefined)[]> {
  const rows = await db.query<ThreadQuestions & { thread_id: string }>({
    name: 'thread_questions',
    text: `select t.thread_id, ${THREAD_STATUS} as status, t.runs, t.interrupts, t.metadata->>'assistant_id' as assistant_id,
        t.metadata->>'graph_id' as graph_id
      from gx.thread t where t.thread_id = any(${wrapParameter('$1::uuid[]')}::uuid[])`,
    values: [threadIds],
  });
  const opened = await openThreads(db, rows);
  const found = new Map(opened.map(({ thread_id, ...questions }) => [thread_id, questions]));
  return threadIds.map((id) => found.get(id));
}
