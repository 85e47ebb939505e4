import { Forbidden, NotFound, Unauthorized } from '../../errors.ts';
import type { AgentPasses, HeldPass, PassAsked } from './agent-passes.ts';

/** Milliseconds between two tries while the control plane does not answer. */
const RETRY = 5000;
/** Milliseconds between two passes at least, however the clocks of nodes differ. */
const PACE = 1000;

type Watched = {
  passes: Pick<AgentPasses, 'of'>;
  asked: PassAsked;
  /** The pass with which the answer began. */
  pass: HeldPass;
  /** Aborted when the answer is over. */
  until: AbortSignal;
  /** Ends the answer. */
  end: () => void;
};

/**
 * Renews the pass of an answer for as long as it goes on, and ends it once its user may see the agent no more. Where
 * that can't be known, the answer ends with the last pass. So a right that is taken away ends it within five minutes.
 */
export function whileItMay({ passes, asked, pass, until, end }: Watched): void {
  let held = pass;
  let timer: NodeJS.Timeout;
  const wait = (milliseconds: number): void => void (timer = setTimeout(() => void renew(), milliseconds).unref());
  const renew = async (): Promise<void> => {
    try {
      held = await passes.of(asked);
      if (!until.aborted) wait(Math.max(PACE, held.renewAt - Date.now()));
    } catch (error) {
      const left = held.endsAt - Date.now();
      if (until.aborted) return;
      if (isRefused(error) || left <= 0) end();
      else wait(Math.min(RETRY, left));
    }
  };
  wait(Math.max(0, pass.renewAt - Date.now()));
  until.addEventListener('abort', () => clearTimeout(timer), { once: true });
  if (until.aborted) clearTimeout(timer!);
}

const isRefused = (error: unknown): boolean => [Unauthorized, Forbidden, NotFound].some((kind) => error instanceof kind);
