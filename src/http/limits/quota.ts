import { Problem } from '../../errors.ts';

/** Names that are remembered. Beyond that, those that have asked for little are forgotten. */
const REMEMBERED = 10_000;
const MINUTE = 60_000;
/** Seconds after which somebody who holds too much may ask again. */
const LATER = 10;

const buildTooMany = (message: string, seconds: number): Problem =>
  new Problem(429, message, { headers: { 'retry-after': String(seconds) } });

type Bucket = { left: number; at: number };
type RateOptions = { perMinute: number; message: string; clock?: () => number };

/** Bounds how often each name may do something. The rest of one minute is there in the next; 0 means no bound. */
export class Rate {
  readonly #options: Required<RateOptions>;
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: RateOptions) {
    this.#options = { clock: () => performance.now(), ...options };
  }

  /** Counts an action of the name. Throws a 429 that says when there is room for it. */
  take(name: string, count = 1): void {
    const { perMinute, message, clock } = this.#options;
    if (perMinute === 0) return;
    const now = clock();
    const bucket = this.#buckets.get(name) ?? this.#add(name, now);
    bucket.left = Math.min(perMinute, bucket.left + ((now - bucket.at) * perMinute) / MINUTE);
    bucket.at = now;
    if (bucket.left < count)
      throw buildTooMany(message, Math.ceil(((count - bucket.left) / perMinute) * (MINUTE / 1000)));
    bucket.left -= count;
  }

  giveBack(name: string, count = 1): void {
    const bucket = this.#buckets.get(name);
    if (bucket !== undefined) bucket.left += count;
  }

  #add(name: string, now: number): Bucket {
    if (this.#buckets.size >= REMEMBERED) this.#dropIdle(now);
    const bucket = { left: this.#options.perMinute, at: now };
    this.#buckets.set(name, bucket);
    return bucket;
  }

  /** Forgets who has been silent for a minute, because their buckets are full again; else the oldest half. */
  #dropIdle(now: number): void {
    for (const [name, { at }] of this.#buckets) if (now - at >= MINUTE) this.#buckets.delete(name);
    if (this.#buckets.size < REMEMBERED) return;
    for (const name of [...this.#buckets.keys()].slice(0, REMEMBERED / 2))
      this.#buckets.delete(name);
  }
}

/**
 * A name that takes places (one, unless `count` says how many), and how many it may hold; 0 means any number. `later`:
 * the seconds after which one who is refused may ask again.
 */
export type Holder = {
  name: string;
  most: number;
  message: string;
  count?: number;
  later?: number;
};

/** Counts the places or bytes that each name holds at a time. */
export class Places {
  readonly #held = new Map<string, number>();

  get isEmpty(): boolean {
    return this.#held.size === 0;
  }

  /**
   * Takes places for all of the names. Returns the function that gives them back. Throws a 429 when one of them has
   * none left.
   */
  enter(holders: Holder[]): () => void {
    for (const { name, most, message, count = 1, later = LATER } of holders)
      if (most > 0 && (this.#held.get(name) ?? 0) + count > most)
        throw buildTooMany(message, later);
    for (const { name, count = 1 } of holders)
      this.#held.set(name, (this.#held.get(name) ?? 0) + count);
    let isHeld = true;
    return () => {
      if (isHeld) for (const { name, count = 1 } of holders) this.#leave(name, count);
      isHeld = false;
    };
  }

  #leave(name: string, count: number): void {
    const left = (this.#held.get(name) ?? count) - count;
    if (left > 0) this.#held.set(name, left);
    else this.#held.delete(name);
  }
}
