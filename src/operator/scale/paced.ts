/** Names that had their turn, each once in some milliseconds of any clock. */
export class Paced {
  readonly #every: number;
  /** When each had its turn, the oldest first. */
  readonly #taken = new Map<string, number>();

  constructor(every: number) {
    this.#every = every;
  }

  /** Returns whether it is a name's turn, which it then has had. */
  take(name: string, now: number): boolean {
    // The oldest stands first, so none stays for longer than it counts.
    for (const [known, at] of this.#taken) {
      if (now - at < this.#every) break;
      this.#taken.delete(known);
    }
    if (this.#taken.has(name)) return false;
    this.#taken.set(name, now);
    return true;
  }
}
