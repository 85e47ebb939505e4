import type { RunEvent } from '../../schema/stream-event.ts';
import type { Outcome } from '../threads/protocol.ts';

/** What a reader in this process hears of a run: events themselves, that the table has more (of the run, or of any), that the run is over, or that it was too slow. */
export type Heard =
  | { kind: 'events'; run_id: string; events: RunEvent[] }
  | { kind: 'wake'; run_id?: string }
  | { kind: 'end'; outcome: Outcome | undefined }
  | { kind: 'too-slow' };

/** Characters of events that wait for one slow reader before it is given up, so that it can not fill the memory. */
const PATIENCE = 64 * 1024 * 1024;

export type Subscription = {
  /** The next thing; undefined once the reader has left. */
  next(): Promise<Heard | undefined>;
  close(): void;
};

/** The key under which a whole thread is followed. */
export const threadKey = (threadId: string): string => `thread:${threadId}`;

const sizeOf = (heard: Heard): number => (heard.kind === 'events' ? heard.events.reduce((sum, { json }) => sum + json.length, 0) : 0);

type Ear = (heard: Heard) => void;

/** Hands a run's events to the readers of the run, or of its thread, in this process, without a disk in between. */
export class Bus {
  readonly #ears = new Map<string, Set<Ear>>();
  readonly #unmade = new Set<string>();

  say(key: string, heard: Heard): void {
    for (const ear of this.#ears.get(key) ?? []) ear(heard);
  }

  sayAll(heard: Heard): void {
    for (const key of this.#ears.keys()) this.say(key, heard);
  }

  /** A run is followed before it is made, so that nothing of it is missed: until `made`, that it is nowhere to be found tells nothing. */
  expect(runId: string): { made(): void } {
    this.#unmade.add(runId);
    return { made: () => void this.#unmade.delete(runId) };
  }

  /** The runs that somebody in this process follows, without those that are still being made. */
  followedRuns(): string[] {
    return [...this.#ears.keys()].filter((key) => !key.startsWith('thread:') && !this.#unmade.has(key));
  }

  isFollowed(key: string): boolean {
    return this.#ears.has(key);
  }

  /** Everything said of the run from now on, until `close` or the signal. */
  follow(key: string, signal: AbortSignal): Subscription {
    const waiting: Heard[] = [];
    let wake: (() => void) | undefined;
    let held = 0;
    const ear: Ear = (heard) => {
      held += sizeOf(heard);
      // One large event alone is no sign of a slow reader.
      if (held > PATIENCE && waiting.length > 0) {
        close();
        waiting.splice(0, waiting.length, { kind: 'too-slow' });
      } else waiting.push(heard);
      wake?.();
    };
    const ears = this.#ears.get(key) ?? new Set();
    this.#ears.set(key, ears.add(ear));
    const leave = (): void => wake?.();
    signal.addEventListener('abort', leave);
    const close = (): void => {
      signal.removeEventListener('abort', leave);
      ears.delete(ear);
      if (ears.size === 0 && this.#ears.get(key) === ears) this.#ears.delete(key);
    };
    const next = async (): Promise<Heard | undefined> => {
      while (waiting.length === 0) {
        if (signal.aborted) return undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const heard = waiting.shift()!;
      held -= sizeOf(heard);
      return heard;
    };
    return { next, close };
  }
}
