import { setTimeout as wait } from 'node:timers/promises';

/** A wait that can be cut short, for a loop that looks again when something happens. One at a time. */
export class Pause {
  #end: (() => void) | undefined;

  /** Resolves after the milliseconds, or once `end` is called. `ref: false`: the process may end meanwhile. */
  async waitFor(milliseconds: number, { ref = true }: { ref?: boolean } = {}): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    if (!ref) timer.unref();
    this.#end = resolve;
    await promise;
    clearTimeout(timer);
    this.#end = undefined;
  }

  /** Ends the wait that is under way. It has no effect on later ones. */
  end(): void {
    this.#end?.();
  }
}

/** Returns true after the milliseconds, and false once the signal ends the wait. The process may end meanwhile. */
export const sleepUnlessAborted = (milliseconds: number, signal: AbortSignal): Promise<boolean> =>
  wait(milliseconds, true, { signal, ref: false }).catch(() => false);
