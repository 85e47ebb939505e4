/** Lets all who ask for the same at a time wait for one answer. */
export class SharedAnswers<T> {
  readonly #asked = new Map<string, Promise<T>>();

  /** Returns the answer that is on its way for a name, else asks for it. */
  getOrAsk(name: string, ask: () => Promise<T>): Promise<T> {
    const asked = this.#asked.get(name);
    if (asked !== undefined) return asked;
    const answer = ask().finally(() => this.#asked.delete(name));
    this.#asked.set(name, answer);
    return answer;
  }
}

/** Remembers answers for some milliseconds, so many at most. A failure is not remembered. */
export class RecentAnswers<T> {
  readonly #bounds: { milliseconds: number; most: number };
  readonly #clock: () => number;
  /** The oldest first. */
  readonly #known = new Map<string, { answer: Promise<T>; until: number }>();

  constructor(
    bounds: { milliseconds: number; most: number },
    clock: () => number = () => performance.now(),
  ) {
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /** Returns the answer of a name that is recent or on its way, else asks for it. */
  getOrAsk(name: string, ask: () => Promise<T>): Promise<T> {
    const now = this.#clock();
    for (const [known, { until }] of this.#known) {
      if (until > now && this.#known.size < this.#bounds.most) break;
      this.#known.delete(known);
    }
    const found = this.#known.get(name);
    if (found !== undefined) return found.answer;
    const entry = { answer: ask(), until: now + this.#bounds.milliseconds };
    this.#known.set(name, entry);
    entry.answer.catch(() => this.#known.get(name) === entry && this.#known.delete(name));
    return entry.answer;
  }
}
