import { expect, test } from 'vitest';
import { PLAIN } from '../../../src/agent/encryption/codec.ts';
import type { Db } from '../../../src/agent/db/base/pool.ts';
import { QueuedRuns } from '../../../src/agent/runs/making/queued-runs.ts';

/* Bounds how many runs wait. The database is a double, because only it can answer late. */

/** Returns a database that says how many runs wait once it is told to. */
function lateDatabase(count: number): { db: Db; answer: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const query = async (): Promise<never> => {
    await promise;
    return [{ count }] as never;
  };
  return { db: { query, codec: PLAIN } as Db, answer: resolve };
}

test('runs that come while the number is read for the first time wait for it', async () => {
  const { db, answer } = lateDatabase(0);
  const queued = new QueuedRuns(db, 10);
  const admitted = [queued.admit(), queued.admit(), queued.admit()].map(async (one) => one);
  answer();
  expect(await Promise.all(admitted)).toEqual([undefined, undefined, undefined]);
  expect(queued.admit()).toBeUndefined();
});

test('when as many wait as may, all of them are refused', async () => {
  const { db, answer } = lateDatabase(10);
  const queued = new QueuedRuns(db, 10);
  const admitted = [queued.admit(), queued.admit()].map(async (one) => one);
  answer();
  for (const one of admitted)
    await expect(one).rejects.toThrow(
      '10 runs are waiting, which is the most that this deployment accepts',
    );
});
