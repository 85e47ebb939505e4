import { createHash } from 'node:crypto';
import type { AgentAccess } from '../config/agent/agent-access.ts';
import { readJsonAnswer } from '../http/bodies/bounded-answer.ts';
import { toError, Problem, Unavailable } from '../errors.ts';
import { deriveNetwork } from '../http/outgoing/addresses.ts';
import { Rate } from '../http/limits/quota.ts';
import { SharedAnswers } from '../http/limits/shared-answers.ts';
import type { Log } from '../log.ts';
import { FOR_DEPLOYMENT, type AuthCheck } from '../schema/wire/auth-check.ts';

/** Bytes of an answer about a key, which has an id and some words. */
const MAX_ANSWER_BYTES = 65_536;

/** Milliseconds for which an answer is believed: of a key that is good, and of one that is not. */
const FRESH = { good: 30_000, refused: 10_000 };
/** While the control plane is away, a key that was good may read for this long after its last check. */
const IN_OUTAGE = 3_600_000;
/** After a check that got no answer, nobody asks again for this long. */
const AWAY = 1000;
const PATIENCE = 3000;
/** How many answers are remembered, good ones and refusals apart, so that the latter displace none of the former. */
const MOST = { good: 10_000, refused: 500 };
/**
 * The most wrong keys a minute: of all callers, half as many as the control plane takes of one deployment by default,
 * and of one address. Keys that were good within the last hour are not counted.
 */
const IN_VAIN = { perMinute: 300, perMinuteOfAddress: 60 };
const GUESSING = 'Too many keys that are not valid have come; try again later.';
/** The form of keys of the REST API. Nothing else is sent there. */
const FORM = /^gx_[\w-]{40,100}$/;

/** A caller's request: whether it only reads, and the address that it comes from. */
export type KeyRequest = { reads: boolean; source: string };

type Checked<T> = { answer: T; at: number };
/** `patience`: milliseconds that the control plane has for an answer. */
type Options = {
  place: NonNullable<AgentAccess['tenantKeys']>;
  log: Log;
  clock?: () => number;
  patience?: number;
};

/** The name by which the keys of all callers are counted. */
const OF_ALL = 'all';

/** Keys for the REST API that open the agent, too: the control plane says whose they are. */
export class TenantKeys {
  readonly #place: Options['place'];
  readonly #log: Log;
  readonly #clock: () => number;
  readonly #good = new Map<string, Checked<AuthCheck>>();
  readonly #refused = new Map<string, Checked<undefined>>();
  readonly #asking = new SharedAnswers<AuthCheck | undefined>();
  readonly #inVain: Rate;
  readonly #inVainOfAddress: Rate;
  readonly #patience: number;
  #awayUntil = -Infinity;

  constructor({ place, log, clock = () => performance.now(), patience = PATIENCE }: Options) {
    this.#place = place;
    this.#log = log;
    this.#clock = clock;
    this.#patience = patience;
    this.#inVain = new Rate({ perMinute: IN_VAIN.perMinute, message: GUESSING, clock });
    this.#inVainOfAddress = new Rate({
      perMinute: IN_VAIN.perMinuteOfAddress,
      message: GUESSING,
      clock,
    });
  }

  /**
   * Returns whose key it is, or undefined if it does not open this deployment. Throws `Unavailable` if it can't be
   * checked now, and a 429 if too many that are not valid were tried. A key that was good lately may still read then.
   */
  async find(key: string, { reads, source }: KeyRequest): Promise<AuthCheck | undefined> {
    if (!FORM.test(key)) return undefined;
    const digest = createHash('sha256').update(key).digest('base64');
    const [good, refused] = [this.#good.get(digest), this.#refused.get(digest)];
    if (good !== undefined && this.#measureAge(good) < FRESH.good) return good.answer;
    if (refused !== undefined && this.#measureAge(refused) < FRESH.refused) return undefined;
    const wasGood = good !== undefined && this.#measureAge(good) < IN_OUTAGE;
    try {
      return await (wasGood
        ? this.#checkShared(digest, key)
        : this.#checkWithLimit(digest, key, source));
    } catch (error) {
      if (reads && wasGood && isUnanswered(error)) return { ...good.answer, role: 'read' };
      throw error;
    }
  }

  #measureAge({ at }: Checked<unknown>): number {
    return this.#clock() - at;
  }

  /** A failure is assumed until the opposite is shown, because thousands may be under way at a time. */
  async #checkWithLimit(
    digest: string,
    key: string,
    source: string,
  ): Promise<AuthCheck | undefined> {
    const giveBack = this.#take(source);
    try {
      const answer = await this.#checkShared(digest, key);
      if (answer !== undefined) giveBack();
      return answer;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  /** Counts a key of an address. Returns the function that takes that back. */
  #take(address: string): () => void {
    const source = deriveNetwork(address);
    this.#inVain.take(OF_ALL);
    try {
      this.#inVainOfAddress.take(source);
    } catch (error) {
      this.#inVain.giveBack(OF_ALL);
      throw error;
    }
    return () => {
      this.#inVain.giveBack(OF_ALL);
      this.#inVainOfAddress.giveBack(source);
    };
  }

  /** One question serves all requests that came with the same key. */
  #checkShared(digest: string, key: string): Promise<AuthCheck | undefined> {
    return this.#asking.getOrAsk(digest, async () =>
      this.#cacheAnswer(digest, await this.#ask(key)),
    );
  }

  async #ask(key: string): Promise<AuthCheck | undefined> {
    if (this.#clock() < this.#awayUntil) throw buildUnavailable();
    const { url, deploymentId } = this.#place;
    try {
      const response = await fetch(`${url}/v2/auth/check`, {
        method: 'POST',
        headers: {
          'x-api-key': key,
          [FOR_DEPLOYMENT]: deploymentId,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ deployment_id: deploymentId }),
        signal: AbortSignal.timeout(this.#patience),
        redirect: 'error',
      });
      if (response.ok) return (await readJsonAnswer(response, MAX_ANSWER_BYTES)) as AuthCheck;
      await response.body?.cancel();
      if ([401, 403, 404].includes(response.status)) return undefined;
      if (response.status === 429)
        throw new Problem(429, GUESSING, {
          headers: { 'retry-after': response.headers.get('retry-after') ?? '1' },
        });
      throw new Unavailable(`the control plane answers ${response.status}`);
    } catch (error) {
      // It answers, and other keys may be known to it.
      if (error instanceof Problem && error.status === 429) throw error;
      this.#awayUntil = this.#clock() + AWAY;
      this.#log.warn({ err: toError(error) }, 'the control plane could not check a key');
      throw buildUnavailable(error);
    }
  }

  #cacheAnswer(digest: string, answer: AuthCheck | undefined): AuthCheck | undefined {
    this.#good.delete(digest);
    this.#refused.delete(digest);
    const at = this.#clock();
    if (answer === undefined) dropOldest(this.#refused, MOST.refused).set(digest, { answer, at });
    else dropOldest(this.#good, MOST.good).set(digest, { answer, at });
    return answer;
  }
}

/** Returns true for an error that says nothing of the key. */
const isUnanswered = (error: unknown): boolean =>
  error instanceof Problem && [429, 503].includes(error.status);

const buildUnavailable = (cause?: unknown): Unavailable =>
  new Unavailable('The control plane does not answer, so the key is not checked; try again.', {
    cause,
  });

/** Returns the map with room for one more: the oldest entry goes first. */
function dropOldest<T>(map: Map<string, T>, most: number): Map<string, T> {
  const [oldest] = map.keys();
  if (map.size >= most && oldest !== undefined) map.delete(oldest);
  return map;
}
