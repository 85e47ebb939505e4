import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { Problem } from '../../errors.ts';

/*
 * Reading a large body blocks the event loop, and so everybody. Such bodies are therefore read one at a time, in steps
 * between which others go first, and after each there is a pause. The pause grows with the square of the longest step:
 * one of 10 ms costs others nothing that they notice, one of 150 ms must be rare.
 */

/**
 * Milliseconds of pause: for a step of 20 ms there are 40, for one of 100 there are 1000. On a busy machine steps seem
 * longer than they are, so there is a bound.
 */
const pauseAfter = (longest: number): number => Math.min((longest * longest) / 10, 2000);

/** Seconds after which a caller with too much in the queue may ask again. */
const LATER = 5;

/** Runs one step, without which the body can't be read, and lets others go first. */
export type BodyStep = <T>(work: () => T) => Promise<T>;

/** Runs a step after others had their turn of the event loop. */
export const runDeferred: BodyStep = async (work) => {
  await nextTurn();
  return work();
};

export class CostlyBodies {
  readonly #most: number;
  readonly #pause: (longest: number) => Promise<unknown>;
  /** By caller. The callers take turns, in the order of this map. */
  readonly #waiting = new Map<string, { bytes: number; begin: () => void }[]>();
  #busy = false;

  /** `most` is how many bytes of one caller may wait, beside the body that is read. */
  constructor(
    most: number,
    pause = (longest: number): Promise<unknown> =>
      wait(pauseAfter(longest), undefined, { ref: false }),
  ) {
    this.#most = most;
    this.#pause = pause;
  }

  /** Reads a body of so many bytes when it is the caller's turn. Throws a 429 when too many of theirs wait. */
  async runInTurn<T>(
    { caller, bytes }: { caller: string; bytes: number },
    read: (step: BodyStep) => Promise<T>,
  ): Promise<T> {
    if (this.#busy) await this.#waitTurn(caller, bytes);
    this.#busy = true;
    let longest = 0;
    const step: BodyStep = async (work) => {
      await nextTurn();
      const began = performance.now();
      try {
        return work();
      } finally {
        longest = Math.max(longest, performance.now() - began);
      }
    };
    try {
      return await read(step);
    } finally {
      void this.#pause(longest).then(() => this.#startNext());
    }
  }

  #waitTurn(caller: string, bytes: number): Promise<void> {
    const mine = this.#waiting.get(caller) ?? [];
    const held = mine.reduce((sum, one) => sum + one.bytes, 0);
    if (mine.length > 0 && held + bytes > this.#most)
      throw new Problem(429, 'You send too many large bodies at a time; try again later.', {
        headers: { 'retry-after': String(LATER) },
      });
    return new Promise((begin) => {
      mine.push({ bytes, begin });
      this.#waiting.set(caller, mine);
    });
  }

  #startNext(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#busy = false;
      return;
    }
    const [caller, waiting] = first;
    const next = waiting.shift();
    // A caller who was served goes to the end.
    this.#waiting.delete(caller);
    if (waiting.length > 0) this.#waiting.set(caller, waiting);
    next?.begin();
  }
}
