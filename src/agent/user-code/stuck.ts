import type { Liveness } from './liveness.ts';

/** Milliseconds for which one handler may hold the thread before it counts as one that never yields. */
const STUCK = 2000;
/** The same where the code that holds the thread is unknown: a timer, or the later part of a handler. */
const SILENT = 5000;

/** The result of a look at the thread: nothing, a ping, or its end; `call` is the number of its holder, if known. */
type Look = 'well' | 'ping' | { stuck: true; call: number | undefined };

/** Tells a thread that never yields from one that works. */
export class StuckWatch {
  #held = { call: 0, since: 0 };
  /** When the thread was pinged; undefined once it was heard since. */
  #pinged: number | undefined;

  clearPing(): void {
    this.#pinged = undefined;
  }

  /** Looks at the thread, which `isAsked` if anything waits for it. `now` is in milliseconds. */
  look({ holds: call }: Liveness, { now, isAsked }: { now: number; isAsked: boolean }): Look {
    if (call === 0 || call !== this.#held.call) this.#held = { call, since: now };
    else if (now - this.#held.since > STUCK) return { stuck: true, call };
    if (this.#pinged !== undefined)
      return now - this.#pinged > SILENT ? { stuck: true, call: undefined } : 'well';
    if (!isAsked) return 'well';
    this.#pinged = now;
    return 'ping';
  }
}
