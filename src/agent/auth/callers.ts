import type { CallerLimits } from '../../config/agent/agent.ts';
import { Invalid } from '../../errors.ts';
import { deriveNetwork } from '../../http/outgoing/addresses.ts';
import { Places, Rate } from '../../http/limits/quota.ts';
import { ANONYMOUS, type AgentCaller } from './caller.ts';

/** Returns the name under which a caller is bounded. */
export const buildLimitName = ({ identity, source }: AgentCaller): string =>
  [ANONYMOUS, ''].includes(identity) ? `from ${deriveNetwork(source)}` : identity;

/** Bounds how much one caller holds open and starts, so that the others find room. */
export class Callers {
  readonly #limits: CallerLimits;
  readonly #streams = new Places();
  /** Those of callers who only look, by a pass. */
  readonly #looks = new Places();
  readonly #runs: Rate;
  #open = 0;

  constructor(limits: CallerLimits) {
    this.#limits = limits;
    this.#runs = new Rate({
      perMinute: limits.runsPerMinute,
      message: `More than ${limits.runsPerMinute} runs a minute; try again later.`,
    });
  }

  /** True while anybody but those who came by a pass holds a stream or a wait open. */
  get areHere(): boolean {
    return !this.#streams.isEmpty;
  }

  get open(): number {
    return this.#open;
  }

  /** Takes a place for a stream or a wait, and returns a function that frees it. Throws a 429 when none is left. */
  acquireStream(caller: AgentCaller): () => void {
    const most = this.#limits.streams;
    const leave = (caller.byPass === true ? this.#looks : this.#streams).enter([
      {
        name: buildLimitName(caller),
        most,
        message: `You have ${most} streams or waits for runs open; close one first.`,
      },
    ]);
    this.#open += 1;
    let isOpen = true;
    return () => {
      if (isOpen) this.#open -= 1;
      isOpen = false;
      leave();
    };
  }

  /**
   * Counts runs that the caller is about to start. Throws a 429 when they are too many for this minute, and a 422 when
   * they are too many for any.
   */
  acquireRuns(caller: AgentCaller, count: number): void {
    const most = this.#limits.runsPerMinute;
    if (most > 0 && count > most)
      throw new Invalid([
        {
          loc: ['body'],
          msg: `must start at most ${most} runs (GX_RUNS_PER_MINUTE)`,
          type: 'value_error',
        },
      ]);
    this.#runs.take(buildLimitName(caller), count);
  }
}
