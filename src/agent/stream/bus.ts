import type { RunEvent } from '../../schema/stream-event.ts';
import type { Outcome } from '../graphs/protocol.ts';

/** What a reader in this process hears of a run: an event itself, that the table has more, or that the run is over. */
export type Heard = { kind: 'event'; event: RunEvent } | { kind: 'wake' } | { kind: 'end'; outcome: Outcome | undefined };

export type Subscription = {
  /** The next thing; undefined once the reader has left. */
  next(): Promise<Heard | undefined>;
  close(): void;
};

type Ear = (heard: Heard) => void;

/** Hands a run's events to its readers in this process, without a disk in between. */
export class Bus {
  readonly #ears = new Map<string, Set<Ear>>();

  say(runId: string, heard: Heard): void {
    for (const ear of this.#ears.get(runId) ?? []) ear(heard);
  }

  sayAll(heard: Heard): void {
    for (const runId of this.#ears.keys()) this.say(runId, heard);
  }

  /** The runs that somebody in this process follows. */
  followed(): string[] {
    return [...this.#ears.keys()];
  }

  /** Everything said of the run from now on, until `close` or the signal. */
  follow(runId: string, signal: AbortSignal): Subscription {
    const waiting: Heard[] = [];
    let wake: (() => void) | undefined;
    const ear: Ear = (heard) => {
      waiting.push(heard);
      wake?.();
    };
    const ears = this.#ears.get(runId) ?? new Set();
    this.#ears.set(runId, ears.add(ear));
    const leave = (): void => wake?.();
    signal.addEventListener('abort', leave);
    const close = (): void => {
      signal.removeEventListener('abort', leave);
      ears.delete(ear);
      if (ears.size === 0 && this.#ears.get(runId) === ears) this.#ears.delete(runId);
    };
    const next = async (): Promise<Heard | undefined> => {
      while (waiting.length === 0) {
        if (signal.aborted) return undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return waiting.shift();
    };
    return { next, close };
  }
}
