/** Lets all who ask for the same at a time wait for one answer. */
export class SharedAnswers<T> {
  readonly #asked = new Map<string, Promise<T>>();

  /** Returns the answer that is on its way for a name, else asks for it. */
  of(name: string, ask: () => Promise<T>): Promise<T> {
    const asked = this.#asked.get(name);
    if (asked !== undefined) return asked;
    const answer = ask().finally(() => this.#asked.delete(name));
    this.#asked.set(name, answer);
    return answer;
  }
}
