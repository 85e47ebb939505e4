import type { Log } from '../../log.ts';
import { asError } from '../../errors.ts';
import type { RunEvent } from '../../schema/stream-event.ts';
import { appendEvents, type StoredEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import { channelOf, type Signal } from '../db/signals.ts';

/** Milliseconds for which events are gathered before they are written together. */
const GATHER = 5;
/** NOTIFY carries 8,000 bytes: at 39 an id, this many runs with their threads fit. */
const RUNS_PER_SIGNAL = 90;

type Entry = StoredEvent & { readers: Iterable<string> };

/** Writes events for readers in other processes and for clients that come back, in batches, one statement at a time. */
export class EventLog {
  readonly #db: Db;
  /** Seconds for which events are kept. */
  readonly lifeSeconds: number;
  readonly #log: Log;
  #waiting: Entry[] = [];
  #writing = false;
  /** Counts the events that came and those that went, and holds who waits for one of them. */
  #came = 0;
  #went = 0;
  #listeners: { upTo: number; resolve: () => void }[] = [];

  constructor(deps: { db: Db; lifeSeconds: number; log: Log }) {
    this.#db = deps.db;
    this.lifeSeconds = deps.lifeSeconds;
    this.#log = deps.log;
  }

  append(run: { run_id: string; thread_id: string; readers: Iterable<string> }, events: RunEvent[]): void {
    for (const event of events) this.#waiting.push({ ...run, ...event });
    this.#came += events.length;
    if (!this.#writing) void this.#drain();
  }

  /** Settles when all that was appended until now is written, or lost. */
  written(): Promise<void> {
    const upTo = this.#came;
    if (this.#went >= upTo) return Promise.resolve();
    return new Promise((resolve) => {
      this.#listeners.push({ upTo, resolve });
    });
  }

  async #drain(): Promise<void> {
    this.#writing = true;
    await new Promise((resolve) => setTimeout(resolve, GATHER));
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, 1000);
      try {
        await appendEvents(this.#db, batch, { wake: signalsOf(batch), lifeSeconds: this.lifeSeconds });
      } catch (error) {
        this.#log.error({ err: asError(error), events: batch.length }, 'stream events lost');
      }
      this.#went += batch.length;
      this.#tell();
    }
    this.#writing = false;
  }

  #tell(): void {
    const done = this.#listeners.findIndex(({ upTo }) => upTo > this.#went);
    for (const { resolve } of this.#listeners.splice(0, done === -1 ? this.#listeners.length : done)) resolve();
  }
}

/** Returns one signal for each process that waits for something in the batch, in parts that fit. */
function signalsOf(batch: Entry[]): { channel: string; payload: string }[] {
  const waiting = new Map<string, Map<string, string>>();
  for (const { run_id, thread_id, readers } of batch)
    for (const reader of readers) waiting.set(reader, (waiting.get(reader) ?? new Map<string, string>()).set(run_id, thread_id));
  return [...waiting].flatMap(([reader, runs]) => {
    const all = [...runs];
    const parts = Array.from({ length: Math.ceil(all.length / RUNS_PER_SIGNAL) }, (_, at) =>
      all.slice(at * RUNS_PER_SIGNAL, (at + 1) * RUNS_PER_SIGNAL),
    );
    return parts.map((part) => {
      const signal: Signal = { about: 'events', run_ids: part.map(([run]) => run), thread_ids: part.map(([, thread]) => thread) };
      return { channel: channelOf(reader), payload: JSON.stringify(signal) };
    });
  });
}
