import { toError } from '../../errors.ts';
import { Pause } from '../../pause.ts';
import { loadNextTickDelay } from '../db/crons/cron-ticks.ts';
import type { Database } from '../db/base/pool.ts';
import type { Signals } from '../db/base/signals.ts';
import type { Log } from '../../log.ts';
import type { Pinning } from '../kernel/pinning.ts';
import type { QueuedRuns } from '../runs/making/queued-runs.ts';

/** Milliseconds between two looks at the crons when none is due before. */
const LOOK = 30_000;
/** Milliseconds until the next look where another process is about to take due crons, and after a failure. */
const OTHERS = 50;
const RETRY = 1000;

export type ClockDeps = {
  db: Database;
  signals: Signals;
  queued: QueuedRuns;
  graphs: string[];
  pinning: Pinning;
  log: Log;
  /** Makes the runs of crons that are due, but for the `slow` ones. Returns how many were due, and how many it took. */
  fire: (slow: Set<string>) => Promise<{ due: number; taken: number }>;
};

/**
 * Fires crons. It knows when the next one is due, and looks at the database then; a cron that is due sooner than the
 * next look is announced by its creator.
 */
export class CronClock {
  readonly #deps: ClockDeps;
  /** Crons that are due, and whose handlers take their time. */
  readonly #slow = new Set<string>();
  #isCalled = false;
  readonly #pause = new Pause();

  constructor(deps: ClockDeps) {
    this.#deps = deps;
  }

  /** Says that a cron fires at this time from now on, so that the clocks of all processes look in time. */
  announce(next: string | null): void {
    if (next === null || Date.parse(next) > Date.now() + LOOK) return;
    this.wake();
    const { signals, log } = this.#deps;
    signals
      .send({ about: 'cron' })
      .catch((error: unknown) =>
        log.warn({ err: toError(error) }, 'clocks could not be notified of a cron'),
      );
  }

  /** Says that a cron may be due sooner than this process knows. */
  wake(): void {
    this.#isCalled = true;
    this.#pause.end();
  }

  /** Fires crons until the signal. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.wake());
    let isDue = false;
    while (!signal.aborted) {
      this.#isCalled = false;
      const pause: number = await this.#look(isDue).catch((error: unknown) => {
        this.#deps.log.warn(
          { err: toError(error) },
          'crons could not be fired; this will be tried again',
        );
        return RETRY;
      });
      isDue = pause < LOOK;
      if (pause > 0 && !this.#isCalled) await this.#pause.waitFor(pause);
    }
  }

  /** Fires due crons, and returns the milliseconds until the next look. */
  async #look(isDue: boolean): Promise<number> {
    if (isDue) {
      await this.#deps.queued.admit();
      const { due, taken } = await this.#deps.fire(this.#slow);
      if (due > 0) return taken > 0 ? 0 : OTHERS;
    }
    const { db, graphs, pinning } = this.#deps;
    const wait = await loadNextTickDelay(db, {
      graphs,
      except: [...this.#slow],
      revision: pinning.revision,
    });
    // A wait of less than nothing means that a cron has become due since.
    return Math.max(0, Math.min(Math.ceil(wait ?? LOOK), LOOK));
  }
}
