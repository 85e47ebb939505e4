import { createHash } from 'node:crypto';
import { toError, Unavailable } from '../../errors.ts';
import { SharedAnswers } from '../../http/limits/shared-answers.ts';
import type { Kube } from '../../kube/kube.ts';
import { callKube } from '../kube-refusal.ts';
import { MacCheck } from './key-mac.ts';
import { type ApiKey, lookUpKey } from './keys.ts';

/** A key that was looked up is believed this long. With the second between two looks of a stream, that is under 5 s. */
const TRUSTED_MILLISECONDS = 3500;
/** While the API server is away, a key is believed at most this long after its last check. */
const TRUSTED_IN_OUTAGE_MILLISECONDS = 60_000;
/** After a failed look-up, nobody asks the API server again for this long. */
const AWAY_MILLISECONDS = 1000;
const LOOK_UP_MILLISECONDS = 5000;
/** How many keys are remembered, good ones and refused ones apart, so that the latter displace none of the former. */
const REMEMBERED = { good: 10_000, refused: 500 };

/** The keys that were used lately, as last read from the cluster. A forged key costs no read. */
export class KnownKeys {
  readonly #kube: Kube;
  readonly #namespace: string;
  readonly #clock: () => number;
  readonly #mac: MacCheck;
  readonly #good = new Map<string, { key: ApiKey; at: number }>();
  readonly #refused = new Map<string, number>();
  readonly #reading = new SharedAnswers<ApiKey | undefined>();
  #awayUntil = -Infinity;

  constructor(options: { kube: Kube; namespace: string; clock: () => number }) {
    this.#kube = options.kube;
    this.#namespace = options.namespace;
    this.#clock = options.clock;
    this.#mac = new MacCheck(options);
  }

  /**
   * Returns whose key it is, or undefined if it was never made or was revoked. Throws `Unavailable` if it can't be
   * checked now.
   */
  async find(given: string): Promise<ApiKey | undefined> {
    const digest = deriveKeyDigest(given);
    const checked = this.#good.get(digest);
    const age = this.#clock() - (checked?.at ?? -Infinity);
    if (checked !== undefined && age < TRUSTED_MILLISECONDS) return checked.key;
    if (checked === undefined && (await this.#isRefused(digest, given))) return undefined;
    try {
      // One look-up serves all requests that came with the same key.
      return await this.#reading.getOrAsk(digest, async () =>
        this.#cacheKey(digest, await this.#read(given)),
      );
    } catch (error) {
      if (
        error instanceof Unavailable &&
        checked !== undefined &&
        age < TRUSTED_IN_OUTAGE_MILLISECONDS
      )
        return checked.key;
      throw error;
    }
  }

  /** Returns true if the key was valid when it was last looked up. */
  hasKey(given: string): boolean {
    return this.#good.has(deriveKeyDigest(given));
  }

  /** Returns true if the key was made by the command, though it may be revoked. That costs no look-up. */
  async isMade(given: string): Promise<boolean> {
    return this.#mac.isForged(given).then(
      (isForged) => !isForged,
      () => false,
    );
  }

  async #isRefused(digest: string, given: string): Promise<boolean> {
    if (this.#clock() - (this.#refused.get(digest) ?? -Infinity) < TRUSTED_MILLISECONDS)
      return true;
    return callKube(() => this.#mac.isForged(given));
  }

  async #read(given: string): Promise<ApiKey | undefined> {
    if (this.#clock() < this.#awayUntil)
      throw new Unavailable(
        'The API server does not answer, so the key is not checked; try again.',
      );
    const limit = AbortSignal.timeout(LOOK_UP_MILLISECONDS);
    try {
      return await callKube(() => lookUpKey(this.#kube, this.#namespace, given, limit));
    } catch (error) {
      if (!limit.aborted && !(error instanceof Unavailable)) throw error;
      this.#awayUntil = this.#clock() + AWAY_MILLISECONDS;
      throw new Unavailable(`The key could not be checked: ${toError(error).message}`, {
        cause: error,
      });
    }
  }

  #cacheKey(digest: string, key: ApiKey | undefined): ApiKey | undefined {
    this.#good.delete(digest);
    this.#refused.delete(digest);
    if (key === undefined) dropOldest(this.#refused, REMEMBERED.refused).set(digest, this.#clock());
    else dropOldest(this.#good, REMEMBERED.good).set(digest, { key, at: this.#clock() });
    return key;
  }
}

/** The key itself is never remembered: it would be worth stealing. */
export const deriveKeyDigest = (key: string): string =>
  createHash('sha256').update(key).digest('base64');

function dropOldest<V>(map: Map<string, V>, size: number): Map<string, V> {
  const oldest = map.keys().next().value;
  if (map.size >= size && oldest !== undefined) map.delete(oldest);
  return map;
}
