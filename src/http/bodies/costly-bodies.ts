import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { Places } from '../limits/quota.ts';
import { TurnsByName } from '../limits/turns.ts';

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

const TOO_MANY = 'You send too many large bodies at a time; try again later.';
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
  readonly #turns = new TurnsByName({ all: 1, each: 1 });
  /** Bytes that wait, by caller. */
  readonly #waiting = new Places();

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
    // One body may always wait, however large it is.
    const count = Math.min(bytes, this.#most);
    const begin = this.#waiting.enter([
      { name: caller, most: this.#most, count, message: TOO_MANY, later: LATER },
    ]);
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
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // The pause is a part of the turn, for which the caller does not wait.
    void this.#turns.run(caller, async () => {
      begin();
      try {
        resolve(await read(step));
      } catch (error) {
        reject(error);
      }
      await this.#pause(longest);
    });
    return promise;
  }
}
