import { later } from './waking.ts';

/** How many requests may wait, of one deployment and in all. */
export type HoldLimits = { perDeployment: number; total: number };

/** Seconds after which whoever was refused may come back. */
const CROWDED = 2;
const LEAVING = 1;

/** Counts the requests that wait for deployments to wake, and lets all of them go when the process stops. */
export class HeldRequests {
  readonly #limits: HoldLimits;
  readonly #held = new Map<string, number>();
  readonly #leaving = Promise.withResolvers<never>();
  #total = 0;
  #refused = 0;
  #isLeaving = false;

  constructor(limits: HoldLimits) {
    this.#limits = limits;
    // Nobody may be waiting.
    this.#leaving.promise.catch(() => undefined);
  }

  get count(): number {
    return this.#total;
  }

  get refused(): number {
    return this.#refused;
  }

  /** Waits for something on behalf of a request. Throws a 503 for one too many, and when the process stops. */
  async hold<T>(deployment: string, work: () => Promise<T>): Promise<T> {
    if (this.#isLeaving) throw this.#refuse('This process is about to end; come back.', LEAVING);
    const held = this.#held.get(deployment) ?? 0;
    if (held >= this.#limits.perDeployment || this.#total >= this.#limits.total)
      throw this.#refuse('Too many requests wait for a deployment that wakes.', CROWDED);
    this.#held.set(deployment, held + 1);
    this.#total += 1;
    try {
      return await Promise.race([work(), this.#leaving.promise]);
    } finally {
      this.#total -= 1;
      const left = (this.#held.get(deployment) ?? 1) - 1;
      if (left > 0) this.#held.set(deployment, left);
      else this.#held.delete(deployment);
    }
  }

  /** Answers all who wait with a 503 that says when to come back, and whoever comes from now on. */
  leave(): void {
    this.#isLeaving = true;
    this.#leaving.reject(later('This process is about to end; come back.', LEAVING));
  }

  #refuse(message: string, seconds: number): Error {
    this.#refused += 1;
    return later(message, seconds);
  }
}
