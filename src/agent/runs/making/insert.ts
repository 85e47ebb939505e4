import type { Signals } from '../../db/base/signals.ts';
import { toError, Conflict, NotFound } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { RunKwargs } from '../../../schema/agent/run.ts';
import type { Claimed } from '../../db/runs/leases.ts';
import { insertFeedbackTokens } from '../../db/runs/feedback.ts';
import type { Database, Db } from '../../db/base/pool.ts';
import type { Inserted, InsertRuns } from '../../db/runs/run-inserts.ts';
import { addPushConfig } from '../../db/webhooks/push-configs.ts';
import { raiseBound } from '../../db/budgets/accounts.ts';
import { isStillWaiting } from '../../db/runs/tasks.ts';
import { loadThreadQuestions } from '../../db/threads/threads.ts';
import { lockActive, type ActiveRun, type NewRun } from '../../db/runs/runs.ts';
import { isAnswerAwaited, type StrictAnswer } from '../../kernel/strict-resume.ts';
import type { Pump } from '../../queue/pump.ts';
import type { Tickets } from '../../queue/tickets.ts';
import { admit } from './admit.ts';
import type { QueuedRuns } from './queued-runs.ts';
import {
  stopRuns,
  notifyStopped,
  type StoppedRuns,
  type TellStoppedDeps,
} from '../executing/cancel.ts';

/** The parts that sending a ticket, and waking a worker for it, need. */
export type WakeDeps = { db: Database; pump: Pump; tickets: Tickets; log: Log; signals: Signals };

/** The parts that storing a run, and waking a worker for it, need. */
export type InsertDeps = TellStoppedDeps &
  WakeDeps & { insertRuns: InsertRuns; queued: QueuedRuns };

const NOT_THERE = 'Thread or assistant not found.';
const ANSWERED =
  'The task no longer waits for a message: another one has arrived, or its question was dropped.';
const RAISED = 'The budget was raised meanwhile.';
const NOT_ASKED =
  'The question or call does not wait for an answer: it was answered meanwhile, or never asked.';
const BUSY =
  'Thread is already running a task. Wait for it to finish or choose a different multitask strategy.';

/**
 * Stores a run as its multitask strategy allows, and wakes a worker for it. Throws `NotFound` when its thread is
 * missing and must not be made, `Conflict` when the thread takes no such run, and a 429 when too many wait.
 */
export async function insertRun(deps: InsertDeps, run: NewRun): Promise<Inserted> {
  const full = deps.queued.admit();
  if (full !== undefined) await full;
  await openFeedback(deps.db, [run]);
  const isPlain = run.multitask_strategy === 'enqueue' && run.answering === undefined;
  const started = isPlain ? await insertStarting(deps, run) : undefined;
  const stored =
    started ?? (isPlain ? await insertWaiting(deps, run) : await insertHolding(deps, run));
  if (stored === undefined) throw new NotFound(NOT_THERE);
  if (stored.run.status === 'pending') deps.queued.addWaiting();
  if (started === undefined && run.after_seconds === 0) wakeWorkers(deps, stored);
  return stored;
}

/**
 * Stores runs, each on a new thread, and wakes workers for them. `within` does work that belongs to the same
 * transaction. Throws a 429 when not all of them may wait; none is stored then, nor where anything else fails.
 */
export async function insertTogether(
  deps: InsertDeps,
  runs: NewRun[],
  within: (tx: Db) => Promise<void>,
): Promise<Inserted[]> {
  await deps.queued.admit(runs.length);
  const all = await deps.db.transaction(async (tx) => {
    await within(tx);
    await openFeedback(tx, runs);
    const inserted = await deps.insertRuns(runs, { kind: 'within', tx });
    if (inserted.includes(undefined)) throw new NotFound(NOT_THERE);
    return inserted as Inserted[];
  });
  wakeFor(deps, all);
  return all;
}

/**
 * Wakes a worker of the run's revision. Nobody waits for the signal, because workers that miss it look at the queue a
 * little later.
 */
export function wakeWorkers(
  deps: Omit<WakeDeps, 'db'>,
  { revision }: { revision: string | null },
): void {
  const isHere = deps.tickets.has(revision);
  if (isHere && deps.pump.hasRoom) deps.pump.wake();
  else announce(deps, isHere || revision === null ? {} : { revisions: [revision] });
}

function announce(
  { signals, log }: { signals: Signals; log: Log },
  to: { revisions?: string[] } = {},
): void {
  signals
    .send({ about: 'ticket', ...to })
    .catch((error: unknown) => log.warn({ err: toError(error) }, 'workers could not be woken'));
}

/**
 * Takes the short way: with a free slot here and a free thread, the run starts with the statement that stores it.
 * Returns undefined when the run was not stored.
 */
async function insertStarting(deps: InsertDeps, run: NewRun): Promise<Inserted | undefined> {
  const { db, insertRuns, pump, tickets } = deps;
  const seat = run.after_seconds === 0 ? pump.reserveSeat() : undefined;
  if (seat === undefined) return undefined;
  try {
    const [found] = await insertRuns([run], { kind: 'starting', starter: seat });
    if (found === undefined) throw new NotFound(NOT_THERE);
    if (found.run.status === 'running') seat.start(toClaimed(run, found));
    else {
      await tickets.send(db, { ...run, revision: found.revision });
      wakeWorkers(deps, found);
    }
    return found;
  } catch (error) {
    // Another run of the thread was started at the same moment.
    if (error instanceof Conflict) return undefined;
    throw error;
  } finally {
    seat.release();
  }
}

function toClaimed(
  { graph_id, readers }: NewRun,
  { run, thread_readers, empty, thread_seq, revision }: Inserted,
): Claimed {
  const { run_id, thread_id } = run;
  const kwargs = run.kwargs as RunKwargs;
  const { temporary, resumable } = kwargs;
  const all = [...readers, ...thread_readers];
  return {
    run_id,
    thread_id,
    graph_id,
    attempt: 1,
    kwargs,
    temporary,
    resumable,
    alone: false,
    cancel: null,
    revision,
    waited: 0,
    readers: all,
    empty,
    thread_seq,
  };
}

/** Stores the tokens before the runs, which may begin with the statement that stores them. */
async function openFeedback(db: Db, runs: NewRun[]): Promise<void> {
  for (const run of runs)
    if (run.feedback?.length) await insertFeedbackTokens(db, run, run.feedback);
}

async function insertWaiting(deps: InsertDeps, run: NewRun): Promise<Inserted | undefined> {
  return (await deps.insertRuns([run], { kind: 'waiting' }))[0];
}

async function insertHolding(deps: InsertDeps, run: NewRun): Promise<Inserted | undefined> {
  const { inserted, stopped } = await deps.db.transaction((tx) =>
    insertOnHeldThread(deps, tx, run),
  );
  if (stopped !== undefined) await notifyStopped(deps, stopped);
  return inserted;
}

/** A run that was stored, or not for want of a thread; and those before it that were stopped, to be notified. */
type InsertedAfter = { inserted: Inserted | undefined; stopped: StoppedRuns | undefined };

/**
 * Decides on the unfinished runs of the thread, as the strategies other than `enqueue` ask, and holds the thread so
 * that no other run can come in between. Throws `Conflict` before it has written anything when the thread is busy.
 */
export async function insertOnHeldThread(
  { insertRuns }: InsertDeps,
  tx: Db,
  run: NewRun,
): Promise<InsertedAfter> {
  const active: ActiveRun[] = (await lockActive(tx, run.thread_id)) ?? [];
  const admission = admit(run.multitask_strategy, active.length);
  if (!admission.admitted) throw new Conflict(BUSY);
  const task = run.task !== undefined && 'last' in run.task ? run.task : undefined;
  await refuseLateAnswer(tx, run, task);
  const stopped =
    admission.stop === undefined ? undefined : await stopRuns(tx, active, admission.stop);
  const [inserted] = await insertRuns([run], { kind: 'within', tx });
  if (inserted === undefined) refuseIfKeyed(run);
  if (inserted !== undefined && task?.push !== undefined)
    await addPushConfig(tx, { ...task, thread_id: run.thread_id }, task.push);
  return { inserted, stopped };
}

/** Throws `Conflict` where a run answers, and nobody waits for that any more. */
async function refuseLateAnswer(
  tx: Db,
  run: NewRun,
  task: { last: string } | undefined,
): Promise<void> {
  if (run.answering !== undefined && !(await isAwaited(tx, run.thread_id, run.answering)))
    throw new Conflict(NOT_ASKED);
  if (run.raise !== undefined && !(await raiseBound(tx, run.raise))) throw new Conflict(RAISED);
  if (task !== undefined && !(await isStillWaiting(tx, task.last))) throw new Conflict(ANSWERED);
}

/** Returns whether a thread that is held waits for the answer. While it has a run, it waits for none. */
async function isAwaited(tx: Db, threadId: string, answer: StrictAnswer): Promise<boolean> {
  const [thread] = await loadThreadQuestions(tx, [threadId]);
  if (thread === undefined || thread.status === 'busy') return false;
  const waiting = Object.values(thread.interrupts).flatMap((some) =>
    some.flatMap(({ id }) => id ?? []),
  );
  return isAnswerAwaited(answer, { waiting, runs: thread.runs });
}

/** Undoes the transaction of a repetition, which must not stop the run of the first request. */
function refuseIfKeyed({ key }: NewRun): void {
  if (key !== undefined) throw new NotFound(NOT_THERE);
}

/** Counts runs that were stored elsewhere than here, and wakes workers for them. */
export function wakeFor(deps: InsertDeps, runs: Inserted[]): void {
  for (const _run of runs) deps.queued.addWaiting();
  const one = new Map(runs.map((run) => [run.revision, run]));
  for (const run of one.values()) wakeWorkers(deps, run);
  if (runs.length > 1 && deps.pump.hasRoom) announce(deps);
}
