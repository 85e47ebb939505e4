import { setTimeout as wait } from 'node:timers/promises';
import { Unavailable } from '../errors.ts';
import type { HttpAnswer } from './transport.ts';

const ATTEMPTS = 4;
/** Four attempts take some two seconds, so even a failing list stays at two requests a second. */
const FIRST_DELAY = 250;
const LONGEST_DELAY = 10_000;

/**
 * Returns the milliseconds to the next attempt: the pause that the server asks for, else a doubling time, half of it
 * random.
 */
export function delayBefore(
  attempt: number,
  retryAfter: string | undefined,
  random: number,
): number {
  const asked = Number(retryAfter) * 1000;
  const base = Number.isFinite(asked) && asked > 0 ? asked : FIRST_DELAY * 2 ** attempt;
  return Math.min(base, LONGEST_DELAY) * (1 + random / 2);
}

/** After a 429 the server has done nothing. After a 5xx it may have, so only an idempotent request is sent again. */
export const isWorthAnotherTry = (status: number, idempotent: boolean): boolean =>
  status === 429 ||
  (idempotent && (status === 500 || status === 502 || status === 503 || status === 504));

const CONNECTION_CODES = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'ENOTFOUND',
]);

/** Returns true if the request may be repeated. Nothing was sent if the connection was refused. */
const mayRepeat = (code: string | undefined, idempotent: boolean): boolean =>
  code === 'ECONNREFUSED' || code === 'EAI_AGAIN' || idempotent;

/** Sends a request until its answer is final. Connection errors become `Unavailable`. */
export async function sendWithRetries(
  send: () => Promise<HttpAnswer>,
  { idempotent, signal }: { idempotent: boolean; signal?: AbortSignal | undefined },
): Promise<HttpAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    const last = attempt === ATTEMPTS - 1;
    let retryAfter: string | undefined;
    try {
      const answer = await send();
      if (last || !isWorthAnotherTry(answer.status, idempotent)) return answer;
      retryAfter = answer.headers['retry-after'];
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined || !CONNECTION_CODES.has(code)) throw error;
      if (last || !mayRepeat(code, idempotent))
        throw new Unavailable("the API server can't be reached", { cause: error });
    }
    await wait(delayBefore(attempt, retryAfter, Math.random()), undefined, { signal });
  }
}
