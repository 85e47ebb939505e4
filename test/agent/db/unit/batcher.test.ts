import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Batcher } from '../../../../src/agent/db/base/batcher.ts';
import { Unavailable } from '../../../../src/errors.ts';

/** A database that takes a while to answer, and remembers which items came together. */
function slow(): { batches: number[][]; write: (items: number[]) => Promise<string[]> } {
  const batches: number[][] = [];
  const write = async (items: number[]): Promise<string[]> => {
    batches.push(items);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return items.map((item) => `written ${item}`);
  };
  return { batches, write };
}

test('a single write goes at once; those that come meanwhile go together, and each hears of its own', async () => {
  const { batches, write } = slow();
  const batcher = new Batcher(write);
  const first = batcher.add(1);
  await turn();
  await turn();
  const others = [2, 3, 4].map((item) => batcher.add(item));
  expect(await Promise.all([first, ...others])).toEqual([
    'written 1',
    'written 2',
    'written 3',
    'written 4',
  ]);
  expect(batches).toEqual([[1], [2, 3, 4]]);
});

test('when a batch fails, only the faulty write fails', async () => {
  const batcher = new Batcher((items: number[]) => {
    if (items.includes(2)) return Promise.reject(new Error('2 can not be written'));
    return Promise.resolve(items);
  });
  const results = await Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('a database that went away is asked once, not once for each write', async () => {
  let asked = 0;
  const batcher = new Batcher(() => {
    asked += 1;
    return Promise.reject(new Unavailable('The database does not answer.'));
  });
  const results = await Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(asked).toBe(1);
});

test('what belongs to the same record goes in its order, in statements of their own', async () => {
  const { batches, write } = slow();
  const batcher = new Batcher(write, (item) => String(item % 10));
  await Promise.all([1, 2, 11, 3, 21].map((item) => batcher.add(item)));
  expect(batches).toEqual([[1, 2], [11, 3], [21]]);
});
