import { setTimeout as wait } from 'node:timers/promises';

/**
 * Asks until the answer is there, and once more when the time is up; fails with what the last try said. The pause is short, so no test waits
 * longer than it must.
 */
export async function eventually<T>(what: string, ask: () => Promise<T | undefined | false>, seconds = 120): Promise<T> {
  const deadline = Date.now() + seconds * 1000;
  let last: unknown = 'nothing yet';
  for (;;) {
    const isLate = Date.now() >= deadline;
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (isLate) throw new Error(`${what}: not within ${seconds} s (${String(last)})`);
    await wait(200);
  }
}
