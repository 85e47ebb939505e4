import { buildRetryLater } from './waking.ts';

/** How many requests may wait, of one deployment and in all. */
export type HoldLimits = { perDeployment: number; total: number };

/** Seconds after which a refused client may come back. */
const CROWDED = 2;
const LEAVING = 1;

type HeldFor = { key: string; namespace: string };

/**
 * Counts the requests that wait for deployments to wake, and lets all of them go when the process stops. A namespace
 * may have as many places as are free, so each one that is full leaves as many to the others, and one that comes later
 * always finds some.
 */
export class HeldRequests {
  readonly #limits: HoldLimits;
  /** Numbers of waiting requests, by deployment and by namespace. */
  readonly #held = new Map<string, number>();
  readonly #inNamespace = new Map<string, number>();
  readonly #leaving = Promise.withResolvers<never>();
  #total = 0;
  #refused = 0;
  #isLeaving = false;

  constructor(limits: HoldLimits) {
    this.#limits = limits;
    // The rejection is no fault while no request waits for it.
    this.#leaving.promise.catch(() => undefined);
  }

  get count(): number {
    return this.#total;
  }

  get refused(): number {
    return this.#refused;
  }

  /**
   * Waits for something on behalf of a request, until `left` resolves. Returns undefined if it did. Throws a 503 for
   * one too many, and when the process stops.
   */
  async hold<T>(
    { key, namespace }: HeldFor,
    work: () => Promise<T>,
    left: Promise<undefined>,
  ): Promise<T | undefined> {
    if (this.#isLeaving) throw this.#refuse('This process is stopping; try again.', LEAVING);
    const { perDeployment, total } = this.#limits;
    const isFull = getCount(this.#inNamespace, namespace) >= total - this.#total;
    if (isFull || getCount(this.#held, key) >= perDeployment)
      throw this.#refuse('Too many requests wait for deployments that wake.', CROWDED);
    this.#count({ key, namespace }, 1);
    try {
      return await Promise.race([work(), this.#leaving.promise, left]);
    } finally {
      this.#count({ key, namespace }, -1);
    }
  }

  /** Answers all who wait, and all who come from now on, with a 503 that says when to come back. */
  leave(): void {
    this.#isLeaving = true;
    this.#leaving.reject(buildRetryLater('This process is stopping; try again.', LEAVING));
  }

  #count({ key, namespace }: HeldFor, more: 1 | -1): void {
    this.#total += more;
    for (const [counts, name] of [
      [this.#held, key] as const,
      [this.#inNamespace, namespace] as const,
    ]) {
      const now = getCount(counts, name) + more;
      if (now > 0) counts.set(name, now);
      else counts.delete(name);
    }
  }

  #refuse(message: string, seconds: number): Error {
    this.#refused += 1;
    return buildRetryLater(message, seconds);
  }
}

const getCount = (counts: Map<string, number>, name: string): number => counts.get(name) ?? 0;
