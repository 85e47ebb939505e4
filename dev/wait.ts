import { setTimeout as sleep } from 'node:timers/promises';
import { TimedOut } from './errors.ts';

/** `what` completes "Gave up waiting for". `every` is in milliseconds. */
type Waiting = { what: string; seconds: number; every?: number };

/**
 * Asks until there is an answer that is neither undefined nor false, and returns it. Throws `TimedOut` when the time is
 * up, and at once the error of `ask`.
 */
export async function waitUntil<T>(
  { what, seconds, every = 100 }: Waiting,
  ask: () => Promise<T> | T,
): Promise<Exclude<T, undefined | false>> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    if (Date.now() > deadline)
      throw new TimedOut(`Gave up waiting for ${what} after ${seconds} s.`);
    await sleep(every);
  }
}
