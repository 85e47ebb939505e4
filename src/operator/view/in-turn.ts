/** Does one piece of work after another, so that each sees what the one before has written. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve();
  #begun = 0;
  /** For each tenant, which of all builds that began here was its latest. A new leader counts from the start. */
  readonly latest = new Map<string, number>();

  note(tenant: string): void {
    this.#begun += 1;
    this.latest.set(tenant, this.#begun);
  }

  /** Begins when all work that came before has ended, whichever way. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const own = before.then(work, work);
    this.#last = own.catch(() => undefined);
    return own;
  }
}
