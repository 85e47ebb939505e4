/** Lines that one stream sends in its turn. */
export const LINES_A_TURN = 50;
/** Milliseconds between two turns: all streams together send at most 10,000 lines a second. */
const EVERY = 5;

/**
 * Gives turns to all streams of logs of this process, in the order in which they ask. However many follow pods that
 * write all they can, other requests are answered in between.
 */
export class StreamTurns {
  readonly #waiting = new Set<() => void>();
  #latest = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  /** Settles when the turn begins, or when the signal aborts. A stream that left takes no turn from the others. */
  begin(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    const now = performance.now();
    if (this.#waiting.size === 0 && now - this.#latest >= EVERY) {
      this.#latest = now;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const begin = (): void => {
        this.#waiting.delete(begin);
        signal.removeEventListener('abort', begin);
        resolve();
      };
      signal.addEventListener('abort', begin);
      this.#waiting.add(begin);
      this.#schedule();
    });
  }

  /** Lets the first of those that wait begin once its turn has come, and then the next. */
  #schedule(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const [first] = this.#waiting;
      if (first === undefined) return;
      this.#latest = performance.now();
      first();
      if (this.#waiting.size > 0) this.#schedule();
    }, EVERY);
  }
}
