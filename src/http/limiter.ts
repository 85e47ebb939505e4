import { setImmediate as turn } from 'node:timers/promises';

/**
 * Runs at most `width` pieces of work at a time, in the order in which they came, and lets the event loop take a turn
 * after each.
 */
export class Limiter {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(width: number) {
    this.#free = width;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((enter) => void this.#waiting.push(enter));
    else this.#free -= 1;
    try {
      return await work();
    } finally {
      await turn();
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
