import { setTimeout as wait } from 'node:timers/promises';

/** Lines that one stream sends in its turn. */
export const LINES_A_TURN = 50;
/** Milliseconds between two turns: all streams together send at most 10,000 lines a second. */
const EVERY = 5;

/**
 * Gives turns to all streams of logs of this process, in the order in which they ask. However many follow pods that
 * write all they can, other requests are answered in between.
 */
export class StreamTurns {
  #next = 0;

  /** Settles when the turn begins, or when the signal aborts. */
  async begin(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#next);
    this.#next = at + EVERY;
    if (at > now) await wait(at - now, undefined, { signal }).catch(() => undefined);
  }
}
