import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Sending } from '../../../../src/agent/stream/valkey/sending.ts';
import { until } from '../../../kit/until.ts';

type Batch = { entries: string[]; answer: () => void; fail: () => void };

/** Entries whose text begins with `new` are of runs that have said nothing for a moment. */
function sendingTo(batches: Batch[], failed: () => void = () => undefined): Sending<string> {
  const send = async (entries: string[]): Promise<{ answered: Promise<void> }> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    batches.push({ entries, answer: resolve, fail: () => reject(new Error('gone')) });
    return { answered: promise };
  };
  return new Sending({ send, failed, isFresh: (entry) => entry.startsWith('new') });
}

/** Waits for many more turns of the event loop than a batch takes. */
const turns = async (): Promise<void> => {
  for (let left = 50; left > 0; left -= 1) await turn();
};

const entriesOf = (batches: Batch[]): string[][] => batches.map(({ entries }) => entries);

test('what comes while the store has not answered yet is sent all the same, in its order', async () => {
  const batches: Batch[] = [];
  const sending = sendingTo(batches);
  sending.add('new 1');
  sending.add('new 2');
  await until('the first are sent', () => batches.length === 1);
  sending.add('new 3');
  await until('the next is sent', () => batches.length === 2);
  expect(entriesOf(batches)).toEqual([['new 1', 'new 2'], ['new 3']]);
});

test('of those that would wait for others, one that must not wait takes all along', async () => {
  const batches: Batch[] = [];
  const sending = sendingTo(batches);
  sending.add('new 1');
  await until('it is sent', () => batches.length === 1);
  for (const entry of ['more 1', 'more 2', 'new 2']) sending.add(entry);
  await until('they are sent', () => batches.length === 2);
  expect(entriesOf(batches)).toEqual([['new 1'], ['more 1', 'more 2', 'new 2']]);
});

test('at most four batches are on their way, and what comes meanwhile goes together', async () => {
  const batches: Batch[] = [];
  const sending = sendingTo(batches);
  for (let number = 1; number <= 4; number += 1) {
    sending.add(`new ${number}`);
    await until('it is sent', () => batches.length === number);
  }
  for (const entry of ['new 5', 'new 6']) sending.add(entry);
  await turns();
  expect(batches).toHaveLength(4);
  batches[0]!.answer();
  await until('the others are sent', () => batches.length === 5);
  expect(entriesOf(batches).at(-1)).toEqual(['new 5', 'new 6']);
});

test('what was added counts as gone when all before it is answered or lost, and a loss is told', async () => {
  const batches: Batch[] = [];
  let losses = 0;
  const sending = sendingTo(batches, () => (losses += 1));
  sending.add('new 1');
  await until('the first is sent', () => batches.length === 1);
  sending.add('new 2');
  await until('the second is sent', () => batches.length === 2);
  let isGone = false;
  const gone = sending.waitUntilSent().then(() => (isGone = true));
  batches[1]!.answer();
  await turns();
  expect(isGone).toBe(false);
  batches[0]!.fail();
  await gone;
  expect(losses).toBe(1);
  await sending.waitUntilSent();
});
