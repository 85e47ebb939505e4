/** Does one piece of work after another, so that each sees what the one before has written. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve();

  /** Begins when all work that came before has ended, whichever way. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const own = before.then(work, work);
    this.#last = own.catch(() => undefined);
    return own;
  }
}
