import type { TracedCall } from '../kernel/run-fields.ts';
import type { Log } from '../../log.ts';
import { toError } from '../../errors.ts';
import { Pause } from '../../pause.ts';
import type { RunEvent } from '../../schema/agent/stream-event.ts';
import { appendEvents, type StoredEvent } from '../db/events/events.ts';
import type { Db } from '../db/base/pool.ts';
import { formatProcessChannel, type Signal } from '../db/base/signals.ts';
import { runFields } from '../kernel/run-fields.ts';
import type { EventTail } from './tail.ts';

/** Milliseconds for which events are gathered before they are written together. */
const GATHER = 10;
/** The most threads with events on their way at which a waiting writer ends the gathering; more share a batch. */
const FEW = 3;
/** NOTIFY carries 8,000 bytes: at 39 an id, this many runs with their threads fit. */
const RUNS_PER_SIGNAL = 90;

/**
 * A run whose events are logged. `kept`: for readers that come later, besides those that read now. `attempt`: nothing
 * is written once another attempt has the run; undefined where that is not checked. `context`: the one that it encrypts
 * under. `kwargs`: its call, for lines about it.
 */
export type LoggedRun = Pick<StoredEvent, 'run_id' | 'thread_id' | 'attempt' | 'context'> & {
  kwargs?: TracedCall | undefined;
} & { readers: Iterable<string>; kept: boolean };

/** Where events go for readers in other processes and for clients that come back: the bus between processes. */
export type StreamLog = {
  readonly lifeSeconds: number;
  /** The events in the key-value store, where there is one. */
  readonly tail: EventTail | undefined;
  append(run: LoggedRun, events: RunEvent[]): void;
  /** Settles when readers find all that was appended until now, or all of one thread; or when it is lost. */
  waitUntilWritten(threadId?: string): Promise<void>;
  /** Settles when the table has all the events that are to be kept. */
  waitUntilStored(threadId?: string): Promise<void>;
};

/** Where the events of runs are read: the database, and those that are on their way to it. */
export type EventSource = { db: Db; eventLog: StreamLog };

type Entry = StoredEvent & Pick<LoggedRun, 'readers' | 'kwargs'>;

/** Writes events for readers in other processes and for clients that come back, in batches, one statement at a time. */
export class EventLog implements StreamLog {
  readonly #db: Db;
  readonly lifeSeconds: number;
  readonly tail = undefined;
  readonly #log: Log;
  #waiting: Entry[] = [];
  #writing = false;
  readonly #gathering = new Pause();
  /** Counts the events that came and those that went, and holds who waits for one of them. */
  #came = 0;
  #went = 0;
  #listeners: { upTo: number; resolve: () => void }[] = [];
  /** Thread -> the number of its last event that came and has not gone. */
  readonly #ofThread = new Map<string, number>();

  constructor(deps: { db: Db; lifeSeconds: number; log: Log }) {
    this.#db = deps.db;
    this.lifeSeconds = deps.lifeSeconds;
    this.#log = deps.log;
  }

  append(
    { run_id, thread_id, attempt, context, kwargs, readers }: LoggedRun,
    events: RunEvent[],
  ): void {
    for (const event of events)
      this.#waiting.push({ run_id, thread_id, attempt, context, kwargs, readers, ...event });
    this.#came += events.length;
    this.#ofThread.set(thread_id, this.#came);
    if (!this.#writing) void this.#drain();
  }

  /**
   * Settles when all that was appended until now, or all of one thread, is written or lost. While few threads have
   * events on their way, a caller that waits ends the gathering.
   */
  waitUntilWritten(threadId?: string): Promise<void> {
    const upTo = threadId === undefined ? this.#came : (this.#ofThread.get(threadId) ?? 0);
    if (this.#went >= upTo) return Promise.resolve();
    if (this.#ofThread.size <= FEW) this.#gathering.end();
    return new Promise((resolve) => {
      this.#listeners.push({ upTo, resolve });
    });
  }

  waitUntilStored(threadId?: string): Promise<void> {
    return this.waitUntilWritten(threadId);
  }

  async #drain(): Promise<void> {
    this.#writing = true;
    await this.#gathering.waitFor(GATHER);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, 1000);
      try {
        await appendEvents(this.#db, batch, {
          wake: buildSignals(batch),
          lifeSeconds: this.lifeSeconds,
        });
      } catch (error) {
        for (const events of Map.groupBy(batch, ({ run_id }) => run_id).values())
          this.#log.error(
            { err: toError(error), ...runFields(events[0]!), events: events.length },
            'stream events lost',
          );
      }
      this.#went += batch.length;
      for (const { thread_id } of batch)
        if (this.#ofThread.get(thread_id)! <= this.#went) this.#ofThread.delete(thread_id);
      this.#notifyWaiting();
    }
    this.#writing = false;
  }

  #notifyWaiting(): void {
    const done = this.#listeners.filter(({ upTo }) => upTo <= this.#went);
    this.#listeners = this.#listeners.filter(({ upTo }) => upTo > this.#went);
    for (const { resolve } of done) resolve();
  }
}

/** Returns one signal for each process that waits for something in the batch, in parts that fit. */
function buildSignals(batch: Entry[]): { channel: string; payload: string }[] {
  const waiting = new Map<string, Map<string, string>>();
  for (const { run_id, thread_id, readers } of batch)
    for (const reader of readers)
      waiting.set(
        reader,
        (waiting.get(reader) ?? new Map<string, string>()).set(run_id, thread_id),
      );
  return [...waiting].flatMap(([reader, runs]) => {
    const all = [...runs];
    const parts = Array.from({ length: Math.ceil(all.length / RUNS_PER_SIGNAL) }, (_, at) =>
      all.slice(at * RUNS_PER_SIGNAL, (at + 1) * RUNS_PER_SIGNAL),
    );
    return parts.map((part) => {
      const signal: Signal = {
        about: 'events',
        run_ids: part.map(([run]) => run),
        thread_ids: part.map(([, thread]) => thread),
      };
      return { channel: formatProcessChannel(reader), payload: JSON.stringify(signal) };
    });
  });
}
