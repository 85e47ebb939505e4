import { toError, Unavailable } from '../../errors.ts';
import { LONGEST_LOOK, LOOK_BOUNDS, chooseLooks } from './branch-look.ts';

/** The answer of a git host before a build: the commit, and the credential that the build shows there. */
export type BuildFound = {
  /** Undefined: only the build can find it. */
  commit: string | undefined;
  /** The data of a Secret, in base64. */
  shown: Record<string, string> | undefined;
};

/** A look at the repository of a revision that is to be built. */
export type BuildLook = {
  /** `namespace/name` of the revision. */
  key: string;
  uid: string;
  tenant: string;
  /** The hosts that the look asks, as one text. */
  host: string;
  ask: (signal: AbortSignal) => Promise<BuildFound>;
};

export type BuildAnswer = BuildFound | { error: Error };

/** The looks that builds begin with. */
export type BuildLooksView = {
  /** Returns the answer to a look. Undefined: the host is being asked, and the answer wakes the revision. */
  answer(look: BuildLook): BuildAnswer | undefined;
};

/** Milliseconds for which a host that did not answer counts as away. */
const AWAY = 20_000;
/** Milliseconds after which an answer that was not used is asked for once more: the branch may have moved. */
const FRESH = 15_000;
/** Milliseconds after which a host that was away is forgotten, because no build asks for it any more. */
const KEPT = 300_000;

/** Returns true for a host that does not answer now. */
export const isHostAway = (error: unknown): error is Unavailable =>
  error instanceof Unavailable && error.message.startsWith('The git host ');

/** A host counts as away for a tenant alone, whose credential or repository may be the reason. */
const buildAwayKey = ({ tenant, host }: BuildLook): string => `${tenant} ${host}`;

/**
 * Asks git hosts for the commits of builds that are to begin. No reconcile waits for a host. The looks of one tenant,
 * and those at one host, have few places each. Builds from a host that is away hear so at once, so that they do not
 * hold up the line one after the other. Nothing is stored: an operator that takes over asks once more.
 */
export class BuildLooks implements BuildLooksView {
  readonly #wake: (key: string) => void;
  readonly #answered = new Map<string, { answer: BuildAnswer; at: number }>();
  readonly #away = new Map<string, { error: Error; at: number }>();
  readonly #waiting = new Map<string, BuildLook>();
  readonly #underWay = new Map<string, BuildLook>();
  #until: AbortSignal | undefined;

  /** `wake` is called with the key of a revision whose look has ended. */
  constructor(wake: (key: string) => void) {
    this.#wake = wake;
  }

  run(until: AbortSignal): void {
    this.#until = until;
    this.#begin();
  }

  answer(look: BuildLook): BuildAnswer | undefined {
    const now = performance.now();
    for (const [uid, { at }] of this.#answered) if (now - at > FRESH) this.#answered.delete(uid);
    for (const [key, { at }] of this.#away) if (now - at > KEPT) this.#away.delete(key);
    const answered = this.#answered.get(look.uid);
    // An answer is for one attempt to begin the build.
    this.#answered.delete(look.uid);
    if (answered !== undefined) return answered.answer;
    const away = this.#away.get(buildAwayKey(look));
    if (away === undefined || now - away.at >= AWAY) this.#ask(look);
    return away && { error: away.error };
  }

  #ask(look: BuildLook): void {
    if (this.#underWay.has(look.uid)) return;
    this.#waiting.set(look.uid, look);
    this.#begin();
  }

  #begin(): void {
    const until = this.#until;
    if (until === undefined || until.aborted) return;
    for (const look of chooseLooks(this.#waiting.values(), this.#underWay.values(), LOOK_BOUNDS)) {
      this.#waiting.delete(look.uid);
      this.#underWay.set(look.uid, look);
      void this.#look(look, until).finally(() => {
        this.#underWay.delete(look.uid);
        this.#begin();
      });
    }
  }

  /** Never throws. */
  async #look(look: BuildLook, until: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([until, AbortSignal.timeout(LONGEST_LOOK)]);
    const answer = await look.ask(signal).catch((error: unknown) => ({ error: toError(error) }));
    if (until.aborted) return;
    const at = performance.now();
    this.#answered.set(look.uid, { answer, at });
    if ('error' in answer && isHostAway(answer.error))
      this.#away.set(buildAwayKey(look), { error: answer.error, at });
    else this.#away.delete(buildAwayKey(look));
    this.#wake(look.key);
  }
}
