import { toError, Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { Pause } from '../../pause.ts';
import {
  isNewLook,
  LONGEST_LOOK,
  LOOK_BOUNDS,
  chooseLooks,
  type BranchFound,
  type BranchLook,
  type BranchPlace,
  type BranchView,
  type Follower,
  type LookBounds,
  type WaitingLook,
} from './branch-look.ts';

/** Milliseconds between two searches for branches that are due. A push event comes sooner. */
const SEARCH = 1000;
/**
 * Seconds after which a host that did not answer is asked again, and a branch that may not be looked at, or only at
 * push events, is considered again.
 */
const AGAIN = 30;

type Options = {
  followers: () => Follower[];
  /** Returns where the branch of a follower is. Undefined: it may not be looked at now. */
  placeOf: (key: string) => BranchPlace | undefined;
  ask: (key: string, signal: AbortSignal) => Promise<BranchFound | undefined>;
  /** Called when a look at the branch of a deployment has found something new. */
  wake: (key: string) => void;
  log: Log;
  bounds?: LookBounds;
};

/** The last look at a branch, if there was one, and when the next one is due. */
type FollowedBranch = { subject: string; push: string | undefined; due: number; look?: BranchLook };

/**
 * Looks at the branches that deployments follow: when a push event comes, and from time to time where that is asked
 * for. No reconcile waits for a git host. The looks of one tenant, and those at one host, have few places each. Nothing
 * is stored: an operator that takes over looks at all of them once.
 */
export class BranchFollower implements BranchView {
  readonly #options: Options;
  readonly #known = new Map<string, FollowedBranch>();
  readonly #waiting = new Map<string, WaitingLook>();
  readonly #underWay = new Map<string, WaitingLook>();
  readonly #pause = new Pause();

  constructor(options: Options) {
    this.#options = options;
  }

  look(uid: string): BranchLook | undefined {
    return this.#known.get(uid)?.look;
  }

  /** Searches for branches that are due at once, because a push event came. */
  searchNow(): void {
    this.#pause.end();
  }

  /** Follows the branches until the signal. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#pause.end();
    signal.addEventListener('abort', stop, { once: true });
    while (!signal.aborted) {
      this.#search(performance.now());
      this.#begin(signal);
      await this.#pause.waitFor(SEARCH, { ref: false });
    }
    signal.removeEventListener('abort', stop);
  }

  /** Finds which branches are due. Those of push events go before the others. */
  #search(now: number): void {
    const followers = this.#options.followers();
    const uids = new Set(followers.map(({ uid }) => uid));
    for (const known of [this.#known, this.#waiting])
      for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
    for (const follower of followers) if (this.#isDue(follower, now)) this.#enqueue(follower, now);
    const inOrder = [...this.#waiting.values()].toSorted(
      (a, b) => Number(a.push === undefined) - Number(b.push === undefined),
    );
    this.#waiting.clear();
    for (const one of inOrder) this.#waiting.set(one.uid, one);
  }

  #isDue({ uid, subject, push }: Follower, now: number): boolean {
    if (this.#underWay.has(uid)) return false;
    const known = this.#waiting.get(uid) ?? this.#known.get(uid);
    if (
      known === undefined ||
      known.subject !== subject ||
      (push !== undefined && known.push !== push)
    )
      return true;
    return !('tenant' in known) && known.due <= now;
  }

  #enqueue(follower: Follower, now: number): void {
    const { key, uid, subject, push } = follower;
    const place = this.#findPlace(key);
    if (place !== undefined && (push !== undefined || place.every > 0)) {
      this.#waiting.set(uid, { ...follower, ...place });
      return;
    }
    this.#waiting.delete(uid);
    const { look } = this.#known.get(uid) ?? {};
    const kept = place !== undefined && look?.subject === subject ? { look } : {};
    this.#known.set(uid, { subject, push, due: now + AGAIN * 1000, ...kept });
  }

  /** One deployment or integration that nobody can read must not end the looks at the others. */
  #findPlace(key: string): BranchPlace | undefined {
    try {
      return this.#options.placeOf(key);
    } catch (error) {
      this.#options.log.error(
        { err: toError(error), deployment: key },
        'the repository of a deployment could not be found',
      );
      return undefined;
    }
  }

  #begin(signal: AbortSignal): void {
    for (const one of chooseLooks(
      this.#waiting.values(),
      this.#underWay.values(),
      this.#options.bounds ?? LOOK_BOUNDS,
    )) {
      this.#waiting.delete(one.uid);
      this.#underWay.set(one.uid, one);
      void this.#look(one, signal).finally(() => {
        this.#underWay.delete(one.uid);
        if (!signal.aborted) this.#begin(signal);
      });
    }
  }

  async #look({ key, uid, subject, push, every }: WaitingLook, signal: AbortSignal): Promise<void> {
    const found = await this.#ask(
      key,
      AbortSignal.any([signal, AbortSignal.timeout(LONGEST_LOOK)]),
    );
    if (signal.aborted) return;
    const isAway = found === undefined || ('reason' in found && found.reason === 'GitHostAway');
    const seconds = isAway || every === 0 ? AGAIN : every;
    const before = this.#known.get(uid)?.look;
    const look = found === undefined ? before : { subject, push, found };
    this.#known.set(uid, {
      subject,
      push,
      due: performance.now() + seconds * 1000,
      ...(look && { look }),
    });
    if (look !== undefined && look !== before && isNewLook(before, look)) this.#options.wake(key);
  }

  /** Asks the host. Undefined: nothing was learnt of it, because the fault is the operator's own. */
  async #ask(key: string, signal: AbortSignal): Promise<BranchFound | undefined> {
    try {
      return await this.#options.ask(key, signal);
    } catch (error) {
      if (error instanceof Problem) return { reason: 'GitHostAway', message: error.message };
      this.#options.log.error(
        { err: toError(error), deployment: key },
        'the branch of a deployment could not be looked at',
      );
      return undefined;
    }
  }
}
