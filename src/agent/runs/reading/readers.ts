import { NotFound } from '../../../errors.ts';
import type { SseEvent } from '../../../http/routes/route.ts';
import { isUnfinished } from '../../../schema/agent/run.ts';
import type { Cursor, ThreadStreamMode } from '../../../schema/agent/stream-event.ts';
import type { JsonText } from '../../../schema/wire/wall/json-text.ts';
import type { BatchedStatements } from '../../db/batched-statements.ts';
import type { Db } from '../../db/base/pool.ts';
import { registerReader, type RunProgress } from '../../db/runs/runs.ts';
import type { Signals } from '../../db/base/signals.ts';
import { loadThreadReaders } from '../../db/events/thread-readers.ts';
import { getCurrentContext } from '../../kernel/encryption-context.ts';
import { createId } from '../../kernel/ids.ts';
import {
  buildThreadKey,
  type Bus,
  type Following,
  type RunResult,
  type Subscription,
} from '../../stream/bus.ts';
import type { StreamLog } from '../../stream/log.ts';
import {
  followProtocolEvents,
  loadProtocolRange,
  type Batch,
} from '../../stream/protocol/follow.ts';
import { loadReportedRun, type ReportedRun } from '../../stream/protocol/last-run.ts';
import type { EventFilter } from '../../stream/protocol/filter.ts';
import { countStored } from '../../stream/protocol/stored-counts.ts';
import { runEvents, type RunReading } from '../../stream/run-events.ts';
import { loadLastCursor } from '../../stream/tail.ts';
import { followThreadEvents } from '../../stream/thread-events.ts';
import type { RunPart } from '../../stream/valkey/frames.ts';
import type { WantedEvents } from '../../stream/wanted.ts';
import { loadEndedState, loadFinalState } from './result.ts';
import { ThreadRegistrations } from './thread-registrations.ts';

type Deps = {
  db: Db;
  batched: BatchedStatements;
  bus: Bus;
  signals: Signals;
  eventLog: StreamLog;
};

/** NOTIFY carries 8,000 bytes: at 39 an id, this many processes fit. */
const MOST_NAMED = 150;

type RunIds = { run_id: string; thread_id: string };
/** A run that somebody in this process follows: where it stood when that began, and its messages since. */
export type FollowedRun = { progress: RunProgress; subscription: Subscription };

/** A thread that somebody in this process follows, over all its runs. */
export type FollowedThread = { threadId: string; subscription: Subscription };

/** Does the next step of a reader. If it fails, the reader leaves the bus: nobody else would close its subscription. */
async function closeOnFailure<T>(subscription: Subscription, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    subscription.close();
    throw error;
  }
}

/**
 * The one door to the readers of runs and threads, for every protocol. Readers follow a run (or all runs of a thread),
 * read its events or wait for its result. Code that changes a run tells its readers that there is more to read, or that
 * it is over. Readers in this process hear of it through the bus. Those in other processes are registered in the row of
 * the run, or of the thread, and hear of it by a signal.
 */
export class Readers {
  readonly #deps: Deps;
  readonly #registrations: ThreadRegistrations;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#registrations = new ThreadRegistrations(deps);
  }

  /* Following. */

  /**
   * Prepares for a run that is about to be made, so that its reader misses nothing. The run's row must name
   * `registered` as its readers, and `made` must be called once the run is made or refused.
   */
  expectRun(
    runId: string,
    follow: Following | undefined,
  ): { registered: string[]; subscription: Subscription | undefined; made(): void } {
    const { bus, signals } = this.#deps;
    const subscription = follow && bus.follow(runId, follow);
    return {
      registered: follow ? [signals.processId] : [],
      subscription,
      made: bus.expect(runId).made,
    };
  }

  /**
   * Follows a run: registers this process among its readers, and tells the process that executes it.
   * Throws `NotFound` when there is no such run or, with `threadId`, none on that thread.
   */
  async followRun(
    run: { runId: string; threadId: string | undefined },
    following: Following,
  ): Promise<FollowedRun> {
    const { db, bus, signals } = this.#deps;
    const { processId } = signals;
    const subscription = bus.follow(run.runId, following);
    return closeOnFailure(subscription, async () => {
      const progress = await registerReader(db, run.runId, processId);
      if (
        progress === undefined ||
        (run.threadId !== undefined && progress.thread_id !== run.threadId)
      )
        throw new NotFound(`Run with ID ${run.runId} not found`);
      if (
        progress.worker !== null &&
        progress.worker !== processId &&
        isUnfinished(progress.status)
      )
        await signals.send(
          { about: 'reader', run_id: run.runId, reader: processId },
          progress.worker,
        );
      return { progress, subscription };
    });
  }

  /** Follows all runs of a thread until the signal. Throws `NotFound` when there is no such thread. */
  async followThread(threadId: string, signal: AbortSignal): Promise<FollowedThread> {
    const subscription = this.#deps.bus.follow(buildThreadKey(threadId), {
      signal,
      hears: 'events',
    });
    return closeOnFailure(subscription, async () => {
      if (
        this.#registrations.has(threadId) ||
        (await this.#registrations.join(threadId)) !== undefined
      )
        return { threadId, subscription };
      throw new NotFound(`Thread with ID ${threadId} not found`);
    });
  }

  /**
   * Follows the protocol events of a thread that need not exist yet. A process that starts a run with such events
   * tells all processes, so the thread's row need not name a reader that stays for a moment only.
   */
  followThreadToCome(threadId: string, signal: AbortSignal): FollowedThread {
    return {
      threadId,
      subscription: this.#deps.bus.follow(buildThreadKey(threadId), { signal, hears: 'events' }),
    };
  }

  /* Reading. */

  /** Returns the events, up to its end, of a run that was followed before it was made. */
  readEventsFromStart(
    reading: Pick<RunReading, 'run_id' | 'subscription' | 'wanted'>,
  ): AsyncGenerator<SseEvent[]> {
    return runEvents(this.#deps, {
      ...reading,
      from: { ms: 0, seq: 0 },
      replay: false,
      ended: false,
    });
  }

  /** Returns the events of a followed run behind the cursor (without one, those from now on), and where they begin. */
  async readEventsAfter(
    cursor: Cursor | undefined,
    { progress, subscription }: FollowedRun,
    wanted: WantedEvents,
  ): Promise<{ from: Cursor; events: AsyncGenerator<SseEvent[]> }> {
    const { run_id, status } = progress;
    const loadLast = (): Promise<Cursor | undefined> =>
      loadLastCursor({ db: this.#deps.db, tail: this.#deps.eventLog.tail }, run_id);
    const from = cursor ?? (await closeOnFailure(subscription, loadLast)) ?? { ms: 0, seq: 0 };
    const ended = !isUnfinished(status);
    return {
      from,
      events: runEvents(this.#deps, {
        run_id,
        subscription,
        from,
        replay: cursor !== undefined,
        ended,
        wanted,
      }),
    };
  }

  /**
   * Yields the events of all runs of a followed thread behind the cursor, including those to come, until the reader
   * leaves or the server stops.
   */
  async *followThreadEvents(
    { threadId, subscription }: FollowedThread,
    { from, modes }: { from: Cursor | undefined; modes: ThreadStreamMode[] },
  ): AsyncGenerator<SseEvent> {
    try {
      yield* followThreadEvents(this.#deps, { threadId, subscription, from, modes });
    } finally {
      this.#leaveThread({ threadId, subscription });
    }
  }

  /**
   * Yields the protocol events of a followed thread behind the number `since`, including those to come, until the
   * reader leaves or the server stops.
   */
  async *followProtocolEvents(
    { threadId, subscription }: FollowedThread,
    since: number,
  ): AsyncGenerator<Batch> {
    const register = (isBusy: boolean): void => {
      if (this.#registrations.has(threadId)) return;
      if (isBusy) void this.#registrations.joinNow(threadId);
      else this.#registrations.joinLater(threadId);
    };
    try {
      yield* followProtocolEvents(this.#deps, { threadId, subscription, register, since });
    } finally {
      this.#leaveThread({ threadId, subscription });
    }
  }

  /**
   * Yields the thread's protocol events between two numbers, the second included, that another reader of this process
   * has passed.
   */
  loadProtocolRange(
    threadId: string,
    range: { since: number; upTo: number },
  ): AsyncGenerator<Batch> {
    return loadProtocolRange(this.#deps, threadId, range);
  }

  /** Returns the protocol events that the last run of the thread has reported so far, to anybody. */
  loadReportedRun(threadId: string): Promise<ReportedRun | undefined> {
    return loadReportedRun(this.#deps, threadId);
  }

  /** Returns how many of the thread's stored protocol events a new reader gets that begins behind `since`. */
  countStoredEvents(threadId: string, reading: EventFilter & { since: number }): Promise<number> {
    return countStored(this.#deps, threadId, reading);
  }

  #leaveThread({ threadId, subscription }: FollowedThread): void {
    subscription.close();
    if (!this.#deps.bus.isFollowed(buildThreadKey(threadId)))
      this.#registrations.leaveLater(threadId);
  }

  /**
   * Waits until a followed run ends and returns its final state (see `loadFinalState`), and its outcome if it ended
   * in this process; undefined when the reader left first.
   */
  async waitForEnd(
    run: RunIds,
    subscription: Subscription,
  ): Promise<{ state: JsonText; result?: RunResult | undefined } | undefined> {
    try {
      for (;;) {
        const message = await subscription.readNext();
        if (message === undefined) return undefined;
        if (message.kind === 'end')
          return {
            state: await loadFinalState(this.#deps.db, run, message.result),
            result: message.result,
          };
        if (message.kind === 'too-slow') return { state: await this.loadFinalState(run) };
      }
    } finally {
      subscription.close();
    }
  }

  /** Reads the final state of a run that has ended (see `loadEndedState`). */
  loadFinalState(run: RunIds): Promise<JsonText> {
    return loadEndedState(this.#deps.db, run);
  }

  /* Telling. */

  async wake({ run_id, thread_id }: RunIds, readers: string[]): Promise<void> {
    this.wakeHere({ run_id, thread_id });
    await this.#notifyOthers(readers, {
      about: 'events',
      run_ids: [run_id],
      thread_ids: [thread_id],
    });
  }

  /**
   * Tells the given readers that a run is over. Where it ended in this process, `result` is its outcome and `last` its
   * last event that readers elsewhere can find.
   */
  async end(
    runId: string,
    readers: string[],
    { result, last }: { result?: RunResult; last?: Cursor | undefined } = {},
  ): Promise<void> {
    this.#deps.bus.publish(runId, { kind: 'end', result });
    await this.#notifyOthers(readers, { about: 'end', run_id: runId, last });
  }

  /** Tells those who follow a thread of an event that no run caused. `json` is called only if somebody follows. */
  async notifyThread(threadId: string, event: string, json: () => Promise<string>): Promise<void> {
    const { db, eventLog } = this.#deps;
    const readers = await loadThreadReaders(db, threadId);
    if (readers.length === 0) return;
    const run = {
      run_id: createId(),
      thread_id: threadId,
      context: getCurrentContext(),
      readers,
      kept: true,
    };
    eventLog.append(run, [{ ms: Date.now(), seq: 1, event, json: await json() }]);
  }

  /**
   * Tells all processes except the given readers that a run of the thread publishes protocol events. Their own readers
   * of the thread may have come when its row did not name them, or before it existed.
   */
  announceProtocolRun(threadId: string, readers: string[]): Promise<void> {
    return this.#deps.signals.send({
      about: 'thread',
      thread_id: threadId,
      readers: readers.slice(0, MOST_NAMED),
    });
  }

  /** Settles when everything published so far is where readers in other processes find it, or lost. */
  waitUntilStored(): Promise<void> {
    return this.#deps.eventLog.waitUntilStored();
  }

  /* Messages of other processes to this one, for its own readers. */

  publishEventsHere({ run_id, thread_id, events }: RunPart): void {
    for (const key of [run_id, buildThreadKey(thread_id)])
      this.#deps.bus.publish(key, { kind: 'events', run_id, events });
  }

  /** Makes all readers look for events that this process may not have heard. */
  lookAgainHere(): void {
    this.#deps.bus.publishToAll({ kind: 'wake' });
  }

  wakeHere({ run_id, thread_id }: RunIds): void {
    for (const key of [run_id, buildThreadKey(thread_id)])
      this.#deps.bus.publish(key, { kind: 'wake', run_id });
  }

  joinProtocolRun(threadId: string, readers: string[]): void {
    if (!readers.includes(this.#deps.signals.processId)) void this.#registrations.joinNow(threadId);
  }

  /** Makes all readers look for more, because this process may have missed messages of others. */
  wakeAllHere(): void {
    this.lookAgainHere();
    for (const threadId of this.#deps.bus.listFollowedThreads())
      void this.#registrations.joinNow(threadId);
  }

  endHere(runId: string, last?: Cursor): void {
    this.#deps.bus.publish(runId, { kind: 'end', result: undefined, last });
  }

  endAllHere(): void {
    this.#deps.bus.publishToAll({ kind: 'end', result: undefined });
  }

  /** Removes this process now, not a little later, from the rows of threads that nobody here follows any more. */
  leaveThreads(): Promise<void> {
    return this.#registrations.leaveNow();
  }

  listFollowedHere(): string[] {
    return this.#deps.bus.listFollowedRuns();
  }

  async #notifyOthers(readers: string[], signal: Parameters<Signals['send']>[0]): Promise<void> {
    const { signals } = this.#deps;
    for (const reader of readers)
      if (reader !== signals.processId) await signals.send(signal, reader);
  }
}
