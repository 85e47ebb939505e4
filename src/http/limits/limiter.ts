import { TurnsByName } from './turns.ts';

/**
 * Runs at most `width` pieces of work at a time, in the order in which they came, and lets the event loop take a turn
 * after each.
 */
export class Limiter {
  readonly #turns: TurnsByName;

  constructor(width: number) {
    this.#turns = new TurnsByName({ all: width, each: width });
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run('', work);
  }
}
