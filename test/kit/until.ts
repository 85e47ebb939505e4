import { setTimeout as wait } from 'node:timers/promises';

/** Milliseconds between two calls of `ask`. They are few, so that no test waits longer than it must. */
const PAUSE = 50;
/**
 * Seconds after which waiting ends. They are below vitest's limit for a hook, so that the failure says what was
 * missing.
 */
const PATIENCE = 100;

/**
 * Asks until there is an answer that is neither undefined nor false, and returns it. What `ask` throws counts as no
 * answer yet. Asks once more when the time is up, and fails with what the last try threw.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T> | T,
  seconds = PATIENCE,
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + seconds * 1000;
  let last: Error | undefined;
  for (;;) {
    const isLate = performance.now() >= deadline;
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    } catch (error) {
      last = error instanceof Error ? error : new Error(JSON.stringify(error));
    }
    if (isLate)
      throw new Error(
        `not within ${seconds} s: ${what}${last === undefined ? '' : ` (${last.message})`}`,
        { cause: last },
      );
    await wait(PAUSE);
  }
}

/** Makes each step, whatever became of those before it, and fails in the end with all that failed. */
export async function eachOf(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failed: Error[] = [];
  for (const step of steps) await step().catch((error: unknown) => failed.push(error as Error));
  if (failed.length > 0)
    throw new AggregateError(failed, failed.map(({ message }) => message).join('; '));
}

/**
 * Milliseconds between two reads that must agree. Kubernetes' own controllers write within some milliseconds of each
 * other.
 */
const APART = 500;

/** Reads until nothing changes any more, and returns what was read last. */
export async function still<T>(what: string, read: () => Promise<T>): Promise<T> {
  let last = await read();
  await until(`${what} is still`, async () => {
    await wait(APART);
    const before = JSON.stringify(last);
    last = await read();
    return JSON.stringify(last) === before;
  });
  return last;
}
