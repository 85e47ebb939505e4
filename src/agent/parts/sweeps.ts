import { toError } from '../../errors.ts';
import { sleepUnlessAborted } from '../../pause.ts';
import { deleteOldKeys } from '../db/base/idempotency-keys.ts';
import { deleteExpiredItems } from '../db/store/store-items.ts';
import { deleteOldCalls, sumWholeDays } from '../db/usage/model-calls.ts';
import { deleteExpiredThreads, pruneExpiredThreads } from '../db/threads/thread-expiry.ts';
import type { AgentDeps } from './deps.ts';

/** Items of the store that one statement removes. */
const ITEMS = 1000;
/** Keys of requests that one does. */
const KEYS = 1000;
/** Calls of models that one does. */
const CALLS = 10_000;

/** The part of the time that a sweep leaves to others, in lengths of its own transactions. */
const REST = 0.25;

/**
 * Removes expired data, until the signal: threads, their older checkpoints, items of the store, the keys of requests,
 * and calls of models. Never throws.
 */
export function removeExpired(
  { db, expiry, keepUsageDays, log }: AgentDeps,
  signal: AbortSignal,
): void {
  const { threads, store } = expiry;
  const repeatEvery = async (
    minutes: number,
    what: string,
    work: () => Promise<number>,
  ): Promise<void> => {
    while (await sleepUnlessAborted(minutes * 60_000, signal)) {
      const count = await repeatUntilDone(work, signal).catch((error: unknown) => {
        log.warn(
          { err: toError(error) },
          'expired records could not be removed; the next sweep tries again',
        );
        return 0;
      });
      if (count > 0) log.info({ count }, `expired ${what} removed`);
    }
  };
  void repeatEvery(threads.intervalMinutes, 'threads', () => deleteExpiredThreads(db, threads));
  void repeatEvery(threads.intervalMinutes, 'checkpoints of threads', () =>
    pruneExpiredThreads(db, threads),
  );
  void repeatEvery(threads.intervalMinutes, 'keys of requests', () => deleteOldKeys(db, KEYS));
  void repeatEvery(threads.intervalMinutes, 'calls of models', async () => {
    await sumWholeDays(db);
    return deleteOldCalls(db, keepUsageDays, CALLS);
  });
  void repeatEvery(store.intervalMinutes, 'items', () => deleteExpiredItems(db, ITEMS));
}

/** Works in small parts until there is nothing more to do, and rests in between. Returns how much was done. */
async function repeatUntilDone(work: () => Promise<number>, signal: AbortSignal): Promise<number> {
  for (let sum = 0; ;) {
    const began = performance.now();
    const count = await work();
    sum += count;
    if (count === 0 || !(await sleepUnlessAborted((performance.now() - began) * REST, signal)))
      return sum;
  }
}
