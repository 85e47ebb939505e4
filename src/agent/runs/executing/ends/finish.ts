import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../../../../log.ts';
import type { RunError, RunStatus } from '../../../../schema/agent/run.ts';
import type { Batcher } from '../../../db/base/batcher.ts';
import {
  loadEarlierEnd,
  type Finished,
  type FinishRun,
  type WrittenEnd,
} from '../../../db/runs/ends.ts';
import { loadFeedbackUrls } from '../../../db/runs/feedback.ts';
import type { Claimed } from '../../../db/runs/leases.ts';
import type { Db } from '../../../db/base/pool.ts';
import type { Signals } from '../../../db/base/signals.ts';
import { KEY_SECONDS } from '../../../db/base/idempotency-keys.ts';
import { keepThread, removeTemporaryThread } from '../../../db/threads/threads.ts';
import type { RunResult } from '../../../stream/bus.ts';
import type { StreamLog } from '../../../stream/log.ts';
import { buildEndLifecycle } from '../../../stream/protocol/root-lifecycle.ts';
import type { Publisher, PublishedRun } from '../../../stream/publisher.ts';
import type { GraphHost } from '../../../graphs/host.ts';
import type { FinishEnd } from '../end.ts';
import type { Readers } from '../../reading/readers.ts';
import { refreshThread } from '../../reading/refresh.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { dropIfDeleted } from './forget.ts';
import { toLoggedError } from '../../../kernel/failure-place.ts';
import { runFields } from '../../../kernel/run-fields.ts';

type Deps = {
  db: Db;
  finishes: Batcher<FinishRun, WrittenEnd>;
  publisher: Publisher;
  readers: Readers;
  signals: Signals;
  eventLog: StreamLog;
  host: GraphHost;
  webhooks: Webhooks;
  log: Log;
};

type Published = PublishedRun & { run: Claimed };
type Feedback = Record<string, string> | undefined;

/**
 * Milliseconds that the end waits for the state of a run whose graph thread was ended, because another thread may have
 * to load the graphs first.
 */
const READ_STATE_WITHIN = 5000;
/** Seconds that the result of a temporary run is kept for readers in other processes. */
const KEPT_FOR_READERS = 60;
/**
 * Characters of a result that is kept as long as the key of its request. A service whose 100,000 requests a day have
 * keys keeps at most 100 GB by it, and mostly a thousandth of that.
 */
const MAX_REPEATED_CHARACTERS = 1_000_000;

/**
 * Publishes the last events of a run to all its readers. Returns where feedback on it is given, if it was asked for and
 * the run was not interrupted.
 */
export async function publishLastEvents(
  { db, publisher }: { db: Db; publisher: Publisher },
  published: Published,
  end: FinishEnd,
): Promise<Feedback> {
  const { run_id, kwargs } = published.run;
  const wanted = kwargs.feedback_keys !== null && end.status !== 'interrupted';
  const feedback = wanted ? await loadFeedbackUrls(db, run_id) : undefined;
  if (feedback !== undefined)
    publisher.publish(published, [['feedback', JSON.stringify(feedback)]]);
  if (end.error !== null) publisher.publish(published, [['error', JSON.stringify(end.error)]]);
  publishLifecycle(publisher, published, end);
  await publisher.waitUntilStored(published);
  return feedback;
}

/** Publishes the error that takes the place of a refused result, after all earlier events of the run. */
export async function publishRunError(
  { publisher }: { publisher: Publisher },
  published: Published,
  error: RunError,
): Promise<void> {
  publisher.publish(published, [['error', JSON.stringify(error)]]);
  publishLifecycle(publisher, published, { status: 'error', rest: 'error', error });
  await publisher.waitUntilStored(published);
}

/**
 * Publishes the end to readers of protocol events. It is stored before the end is written, because the thread's next
 * run goes on counting behind it.
 */
function publishLifecycle(
  publisher: Publisher,
  published: Published,
  end: Pick<FinishEnd, 'status' | 'rest' | 'error'>,
): void {
  const { kwargs, graph_id } = published.run;
  if (kwargs.protocol === true) publisher.publish(published, [buildEndLifecycle(graph_id, end)]);
}

/**
 * Writes the end of a run that its graph, its time limit or a client brought about, and tells its readers the result.
 * Returns `to-roll-back` when a client asked for that before the end was written.
 */
export async function finish(
  deps: Deps,
  published: Published,
  { end, feedback, hasCalls }: { end: FinishEnd; feedback: Feedback; hasCalls: boolean },
): Promise<{ more: boolean; status?: RunStatus } | 'to-roll-back'> {
  const { db, signals, publisher, readers, log } = deps;
  const { run } = published;
  const finished = await writeEnd(deps, run, { ...end, hasCalls });
  if (finished === 'to-roll-back') return finished;
  logEnd(log, run, {
    ...end,
    status: finished?.status ?? end.status,
    hidesWords: db.codec.encrypts,
  });
  if (finished === undefined) {
    await dropIfDeleted(db, run);
    return { more: true };
  }
  const last = published.logged;
  publisher.publishDone(published);
  if (finished.told) deps.webhooks.wake();
  // A client that waits for the end looks at the thread next.
  const kept = await keepWaitingThread(db, run, { status: finished.status, rest: end.rest });
  if (end.stateUnknown && !run.temporary)
    await Promise.race([refreshThread(deps, run), wait(READ_STATE_WITHIN)]);
  const result = buildResult({ ...end, ...finished }, feedback);
  await readers.end(run.run_id, finished.readers, { result, last });
  const elsewhere = finished.readers.some((reader) => reader !== signals.processId);
  if (run.temporary && !kept)
    await removeTemporaryThread(db, run.thread_id, {
      afterSeconds: decideRetention(deps, run, { end, elsewhere }),
    });
  return { more: finished.more, status: finished.status };
}

/**
 * Writes a line about the end of a run. One that failed has its error, with the node, the place and the stack. The
 * words of an error may quote values, so they stay out of the log where the database has them encrypted.
 */
function logEnd(log: Log, run: Claimed, end: FinishEnd & { hidesWords: boolean }): void {
  const { status, error, failure, hidesWords } = end;
  if (status !== 'error' || error === null)
    return log.info(
      {
        ...runFields(run),
        graph_id: run.graph_id,
        status,
        // A graph that has asked ends its run, too.
        ...(end.rest === 'interrupted' && { thread_status: end.rest }),
      },
      'run ended',
    );
  const { node, at, stack, causes = [] } = failure ?? {};
  const hideMessage = <T extends { message: string }>(one: T): T =>
    hidesWords ? { ...one, message: 'its message is encrypted' } : one;
  const err = toLoggedError(hideMessage(error), { stack, causes: causes.map(hideMessage) });
  log.error(
    {
      ...runFields(run),
      graph_id: run.graph_id,
      status,
      ...(node && { node }),
      ...(at && { at }),
      err,
    },
    'run failed',
  );
}

/** Keeps the thread of a temporary run that waits for an answer, if that was asked for. */
async function keepWaitingThread(
  db: Db,
  { kwargs, thread_id }: Claimed,
  end: { status: RunStatus; rest: FinishEnd['rest'] },
): Promise<boolean> {
  const keeps =
    kwargs.keeps_waiting === true && end.status === 'success' && end.rest === 'interrupted';
  if (keeps) await keepThread(db, thread_id);
  return keeps;
}

/** Returns how long the thread of a temporary run stays: for repetitions of its request, or for its readers. */
function decideRetention(
  { eventLog }: Deps,
  { resumable, kwargs }: Claimed,
  { end, elsewhere }: { end: FinishEnd; elsewhere: boolean },
): number {
  const length = (end.values?.length ?? 0) + (end.interrupts?.length ?? 0);
  if (kwargs.repeatable === true && length <= MAX_REPEATED_CHARACTERS) return KEY_SECONDS;
  return resumable ? eventLog.lifeSeconds : elsewhere ? KEPT_FOR_READERS : 0;
}

/** Writes the end into the row. Returns undefined when the run is no longer this process's to end. */
async function writeEnd(
  { db, finishes, signals }: Deps,
  { run_id, thread_id, kwargs }: Claimed,
  end: FinishEnd & { hasCalls: boolean },
): Promise<WrittenEnd> {
  const { status, error, rest, values, plain, interrupts, hasCalls } = end;
  const row: FinishRun = {
    run_id,
    thread_id,
    worker: signals.processId,
    status,
    error,
    context: kwargs.encryption_context,
    webhook: kwargs.webhook !== null,
    hasCalls,
    thread: { status: rest, values, plain, interrupts },
  };
  return (await finishes.add(row)) ?? loadEarlierEnd(db, row);
}

const buildResult = (
  { status, rest, values, interrupts, error, updated_at }: FinishEnd & Finished,
  feedback: Feedback,
): RunResult => ({
  status,
  waits: status === 'success' && rest === 'interrupted',
  endedAt: updated_at,
  ...(values !== undefined && { values }),
  ...(interrupts !== undefined && { interrupts }),
  ...(error !== null && { error }),
  ...(feedback && { feedback }),
});
