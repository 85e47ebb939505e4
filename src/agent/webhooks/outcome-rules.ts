/** The outcome of one attempt to send. `problem` is the end of a sentence; `again`: another attempt may help. */
export type SendOutcome =
  | { sent: true }
  | { sent: false; problem: string; again: boolean; afterSeconds?: number | undefined };

export const MOST_ATTEMPTS = 3;

/** Seconds before the second attempt; each further one waits four times as long. */
const FIRST_PAUSE = 2;
/** Seconds that a receiver may ask for. */
const LONGEST_PAUSE = 300;

/** Decides what an answer means. Redirects are never followed, because they could lead anywhere. */
export function decideSendOutcome(status: number, retryAfter?: string): SendOutcome {
  if (status >= 200 && status < 300) return { sent: true };
  if (status >= 300 && status < 400)
    return { sent: false, problem: `answered ${status}; redirects are not followed`, again: false };
  const again = status >= 500 || status === 429;
  return {
    sent: false,
    problem: `answered ${status}`,
    again,
    afterSeconds: again ? parseRetryAfter(retryAfter) : undefined,
  };
}

function parseRetryAfter(retryAfter: string | undefined): number | undefined {
  return retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined;
}

/** Returns the seconds until the next attempt after so many; `chance` is from 0 to 1, and spreads attempts out. */
export function pauseAfter(attempts: number, asked: number | undefined, chance: number): number {
  const own = FIRST_PAUSE * 4 ** (attempts - 1) * (0.5 + chance);
  return Math.min(LONGEST_PAUSE, Math.max(own, asked ?? 0));
}
