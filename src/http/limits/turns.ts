import { setImmediate as nextTurn } from 'node:timers/promises';
import { Problem } from '../../errors.ts';

/**
 * Pieces of work at a time: of all names, and of one. `waiting`: how many of one name may wait for their turn;
 * `refuse` makes the error of one that is too many (a 429 if not given).
 */
export type TurnsBounds = {
  all: number;
  each: number;
  waiting?: number;
  refuse?: () => Error;
};

/** Seconds after which somebody who has too many in the queue may ask again. */
const LATER = 5;

const buildTooMany = (): Problem =>
  new Problem(429, 'Too many such requests are under way; try again later.', {
    headers: { 'retry-after': String(LATER) },
  });

/**
 * Has names take turns: each has few pieces of work under way, and one that waits goes behind those of names that were
 * served less lately. So a name that asks for much, or whose work is slow, holds up itself.
 */
export class TurnsByName {
  readonly #bounds: Required<TurnsBounds>;
  readonly #running = new Map<string, number>();
  /** Those that wait, by name. The name that was served last stands last. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #free: number;

  constructor(bounds: TurnsBounds) {
    this.#bounds = { waiting: Infinity, refuse: buildTooMany, ...bounds };
    this.#free = bounds.all;
  }

  /** Does the work when it is the name's turn. Throws when too many of the name wait. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#mayBegin(name) && !this.#waiting.has(name)) this.#begin(name);
    else await this.#waitTurn(name);
    try {
      return await work();
    } finally {
      await nextTurn();
      this.#end(name);
    }
  }

  #mayBegin(name: string): boolean {
    return this.#free > 0 && (this.#running.get(name) ?? 0) < this.#bounds.each;
  }

  #begin(name: string): void {
    this.#free -= 1;
    this.#running.set(name, (this.#running.get(name) ?? 0) + 1);
  }

  #waitTurn(name: string): Promise<void> {
    const mine = this.#waiting.get(name) ?? [];
    if (mine.length >= this.#bounds.waiting) throw this.#bounds.refuse();
    this.#waiting.set(name, mine);
    return new Promise((enter) => void mine.push(enter));
  }

  #end(name: string): void {
    const left = (this.#running.get(name) ?? 1) - 1;
    if (left > 0) this.#running.set(name, left);
    else this.#running.delete(name);
    this.#free += 1;
    for (const [next, waiting] of this.#waiting) {
      if (!this.#mayBegin(next)) continue;
      const enter = waiting.shift();
      this.#waiting.delete(next);
      if (waiting.length > 0) this.#waiting.set(next, waiting);
      this.#begin(next);
      enter?.();
      return;
    }
  }
}
