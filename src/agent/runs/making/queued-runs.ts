import { Problem, Rejected } from '../../../errors.ts';
import { countPending } from '../../db/runs/runs.ts';
import type { Db } from '../../db/base/pool.ts';

/** Milliseconds after which the number of waiting runs is read again, because other processes add runs as well. */
const FRESH = 5000;
/** Milliseconds between two readings, however many runs are refused. */
const PAUSE = 250;
/** Seconds after which a refused client may ask again. */
const LATER = 10;

/**
 * Bounds how many runs of the deployment wait. It counts those that this process adds, and reads the true number only
 * when that may have reached the bound, or is old.
 */
export class QueuedRuns {
  readonly #db: Db;
  readonly #most: number;
  readonly #changed: () => void;
  /** Not less than the number of waiting runs, as far as this process knows. */
  #known = Infinity;
  #at = -Infinity;
  #reading: Promise<void> | undefined;

  /** `changed` is called for each run that is counted. */
  constructor(db: Db, most: number, changed: () => void = () => undefined) {
    this.#db = db;
    this.#most = most;
    this.#changed = changed;
  }

  /**
   * Throws a 429 when so many runs more may not wait, and a 400 when they never might. A promise is returned only where
   * the number has to be read.
   */
  admit(count = 1): Promise<void> | undefined {
    return this.#most === 0 || this.#known + count <= this.#most
      ? undefined
      : this.#refuseIfFull(count);
  }

  addWaiting(): void {
    this.#known += 1;
    this.#changed();
    if (performance.now() - this.#at > FRESH) void this.#read().catch(() => undefined);
  }

  async #refuseIfFull(count: number): Promise<void> {
    if (count > this.#most)
      throw new Rejected(
        `At most ${this.#most} runs of this deployment may wait; this request has ${count}.`,
      );
    // A request that comes while the number is being read waits for it.
    if (this.#reading !== undefined || performance.now() - this.#at > PAUSE) await this.#read();
    if (this.#known + count <= this.#most) return;
    throw new Problem(
      429,
      `${this.#most} runs are waiting, which is the most that this deployment accepts; try again later.`,
      {
        headers: { 'retry-after': String(LATER) },
      },
    );
  }

  /** Reads how many runs wait, once for all who ask at a time. */
  #read(): Promise<void> {
    return (this.#reading ??= this.#count().finally(() => (this.#reading = undefined)));
  }

  async #count(): Promise<void> {
    this.#at = performance.now();
    this.#known = await countPending(this.#db, this.#most);
  }
}
