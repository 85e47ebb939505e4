import type { RunError, RunStatus } from '../../schema/agent/run.ts';
import type { Cursor, RunEvent } from '../../schema/agent/stream-event.ts';

/** The outcome of a run that ended in this process. `values` and `interrupts` are JSON text; absent means unchanged. */
export type RunResult = {
  status?: RunStatus;
  values?: string;
  interrupts?: string;
  error?: RunError;
  /** True where the thread waits for an answer. */
  waits?: boolean;
  endedAt?: string;
  /** Key -> the address at which feedback on the run is given. */
  feedback?: Record<string, string>;
};

/** A message that a reader in this process receives about a run, or a thread. */
export type BusMessage =
  | { kind: 'events'; run_id: string; events: RunEvent[] }
  /** The table has more events of the run, or of any run; `thread_seq` is the number of the last protocol event. */
  | { kind: 'wake'; run_id?: string; thread_seq?: number | undefined }
  /**
   * The run is over. Without a result it did not end in this process, and its row tells the outcome; `last` is then its
   * last event, if its worker reported it.
   */
  | { kind: 'end'; result: RunResult | undefined; last?: Cursor | undefined }
  /** The reader was given up because too much waited for it. */
  | { kind: 'too-slow' };

/**
 * The most characters of events that wait for one slow reader before it is given up, so that it can't fill the memory.
 */
const MOST_WAITING = 64 * 1024 * 1024;

export type Subscription = {
  /** Returns the next message; undefined once the reader has left. */
  readNext(): Promise<BusMessage | undefined>;
  close(): void;
};

/** The messages that a follower wants: all, or all but events. */
export type Hears = 'events' | 'end';

export type Following = { signal: AbortSignal; hears: Hears };

const THREAD = 'thread:';

/** Returns the key under which a whole thread is followed. */
export const buildThreadKey = (threadId: string): string => THREAD + threadId;

const measureSize = (message: BusMessage): number =>
  message.kind === 'events' ? message.events.reduce((sum, { json }) => sum + json.length, 0) : 0;

type Listener = { hears: Hears; hear: (message: BusMessage) => void };

/**
 * Hands a run's events to the readers of the run, or of its thread, in this process, without going through the disk.
 */
export class Bus {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #unmade = new Set<string>();
  /** Key -> who waits for the first that hears events under it. */
  readonly #waiting = new Map<string, Set<() => void>>();

  publish(key: string, message: BusMessage): void {
    for (const { hears, hear } of this.#listeners.get(key) ?? [])
      if (hears === 'events' || message.kind !== 'events') hear(message);
  }

  isHeard(keys: string[]): boolean {
    return keys.some((key) =>
      [...(this.#listeners.get(key) ?? [])].some(({ hears }) => hears === 'events'),
    );
  }

  /** Calls once somebody begins to hear events under one of the keys. Returns a function that ends the waiting. */
  watchForReader(keys: string[], call: () => void): () => void {
    for (const key of keys) this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(call));
    return () => {
      for (const key of keys) {
        const waiting = this.#waiting.get(key);
        waiting?.delete(call);
        if (waiting?.size === 0) this.#waiting.delete(key);
      }
    };
  }

  publishToAll(message: BusMessage): void {
    for (const key of this.#listeners.keys()) this.publish(key, message);
  }

  /** Notes a run that is followed before it is made. Until `made`, its absence from the database means nothing. */
  expect(runId: string): { made(): void } {
    this.#unmade.add(runId);
    return { made: () => void this.#unmade.delete(runId) };
  }

  /** Returns the runs that somebody in this process follows, without those that are still being made. */
  listFollowedRuns(): string[] {
    return [...this.#listeners.keys()].filter(
      (key) => !key.startsWith(THREAD) && !this.#unmade.has(key),
    );
  }

  listFollowedThreads(): string[] {
    return [...this.#listeners.keys()]
      .filter((key) => key.startsWith(THREAD))
      .map((key) => key.slice(THREAD.length));
  }

  isFollowed(key: string): boolean {
    return this.#listeners.has(key);
  }

  /** Follows the key: all that is published under it from now on, until `close` or the signal. */
  follow(key: string, { signal, hears }: Following): Subscription {
    const waiting: BusMessage[] = [];
    let wake: (() => void) | undefined;
    let held = 0;
    const handleMessage = (message: BusMessage): void => {
      held += measureSize(message);
      // One large event alone is no sign of a slow reader.
      if (held > MOST_WAITING && waiting.length > 0) {
        close();
        waiting.splice(0, waiting.length, { kind: 'too-slow' });
      } else waiting.push(message);
      wake?.();
    };
    const listener: Listener = { hears, hear: handleMessage };
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    if (hears === 'events') for (const call of this.#waiting.get(key) ?? []) call();
    const leave = (): void => {
      close();
      wake?.();
    };
    const close = (): void => {
      signal.removeEventListener('abort', leave);
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners)
        this.#listeners.delete(key);
    };
    signal.addEventListener('abort', leave);
    if (signal.aborted) close();
    const readNext = async (): Promise<BusMessage | undefined> => {
      while (waiting.length === 0) {
        if (signal.aborted) return undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const message = waiting.shift()!;
      held -= measureSize(message);
      return message;
    };
    return { readNext, close };
  }
}
