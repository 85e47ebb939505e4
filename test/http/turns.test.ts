import { expect, test } from 'vitest';
import { RecentAnswers } from '../../src/http/limits/shared-answers.ts';
import { TurnsByName } from '../../src/http/limits/turns.ts';

/* Work of several names that shares few places. */

/** Work that lasts until it is ended, in the order in which it begins. */
function heldWork() {
  const ends: (() => void)[] = [];
  const begun: string[] = [];
  const work = (name: string) => () =>
    new Promise<void>((end) => {
      begun.push(name);
      ends.push(end);
    });
  return { begun, work, endFirst: () => ends.shift()?.() };
}

test('a name whose work never ends leaves places to others', async () => {
  const turns = new TurnsByName({ all: 4, each: 2 });
  const { begun, work } = heldWork();
  for (let index = 0; index < 50; index += 1) void turns.run('slow', work('slow'));
  await turns.run('quick', () => Promise.resolve(begun.push('quick')));
  expect(begun).toEqual(['slow', 'slow', 'quick']);
});

test('names that wait go one after the other, whoever asks for most', async () => {
  const turns = new TurnsByName({ all: 1, each: 1 });
  const { begun, work, endFirst } = heldWork();
  const all = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => turns.run(name[0]!, work(name)));
  for (let count = 0; count < all.length; count += 1) {
    await expect.poll(() => begun.length).toBe(count + 1);
    endFirst();
  }
  await Promise.all(all);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
});

test('one of whom too many wait is told to come back, and work that fails gives its place back', async () => {
  const turns = new TurnsByName({ all: 1, each: 1, waiting: 1 });
  const failing = turns.run('a', () => Promise.reject(new RangeError('it failed')));
  const second = turns.run('a', () => Promise.resolve('done'));
  await expect(turns.run('a', () => Promise.resolve())).rejects.toMatchObject({ status: 429 });
  await expect(failing).rejects.toThrow('it failed');
  expect(await second).toBe('done');
});

test('an answer is remembered for a while, a failure is not, and few are kept', async () => {
  let [now, asked] = [0, 0];
  const recent = new RecentAnswers<number>({ milliseconds: 100, most: 2 }, () => now);
  const ask = (name: string): Promise<number> =>
    recent.getOrAsk(name, () => Promise.resolve((asked += 1)));
  expect([await ask('a'), await ask('a'), await ask('b')]).toEqual([1, 1, 2]);
  now = 101;
  expect([await ask('a'), await ask('b'), await ask('c'), await ask('a')]).toEqual([3, 4, 5, 6]);
  await expect(
    recent.getOrAsk('bad', () => Promise.reject(new RangeError('it failed'))),
  ).rejects.toThrow('it failed');
  expect(await recent.getOrAsk('bad', () => Promise.resolve(9))).toBe(9);
});
