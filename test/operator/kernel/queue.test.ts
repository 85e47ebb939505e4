import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { chooseRetryDelay, WorkQueue } from '../../../src/operator/kernel/queue.ts';

test('a key that is added twice is handed out once', async () => {
  const queue = new WorkQueue();
  queue.add('a');
  queue.add('a');
  queue.add('b');
  expect([await queue.take(), await queue.take(), queue.depth]).toEqual(['a', 'b', 0]);
});

test('a key is never worked on twice at a time, and comes again when it changed meanwhile', async () => {
  const queue = new WorkQueue();
  queue.add('a');
  await queue.take();
  queue.add('a');
  expect(queue.depth).toBe(0);
  queue.finish('a');
  expect(await queue.take()).toBe('a');
});

test('nobody gets a key while the queue is shut, and all who wait get theirs when it opens', async () => {
  let isOpen = false;
  const queue = new WorkQueue(undefined, 0, () => isOpen);
  const taken: (string | undefined)[] = [];
  const takers = [1, 2].map(async () => taken.push(await queue.take()));
  for (const key of ['a', 'b', 'c']) queue.add(key);
  await wait(5);
  expect([taken, queue.depth]).toEqual([[], 3]);
  isOpen = true;
  queue.resume();
  await Promise.all(takers);
  expect([taken, queue.depth]).toEqual([['a', 'b'], 1]);
});

test('live changes go before those of a start-up, also when the key waited there already', async () => {
  const queue = new WorkQueue();
  queue.add('old', 'background');
  queue.add('changed', 'background');
  queue.add('changed', 'live');
  expect([await queue.take(), await queue.take()]).toEqual(['changed', 'old']);
});

test('of several delays the earliest counts', async () => {
  const queue = new WorkQueue();
  queue.addAfter('a', 20);
  queue.addAfter('a', 60_000);
  expect(await queue.take()).toBe('a');
  queue.close();
});

test('a delay keeps its own priority, and what is looked at is waited for no more', async () => {
  const queue = new WorkQueue();
  queue.addAfter('echo', 10, 'background');
  queue.addAfter('echo', 60_000);
  queue.addAfter('news', 20);
  await wait(40);
  expect([queue.depth, await queue.take(), await queue.take()]).toEqual([2, 'news', 'echo']);
  queue.finish('echo');
  queue.addAfter('echo', 10, 'background');
  queue.add('echo');
  expect(await queue.take()).toBe('echo');
  queue.finish('echo');
  await wait(30);
  expect(queue.depth).toBe(0);
  queue.close();
});

test('what changes while a key rests from being worked on is looked at together, when it has rested', async () => {
  const queue = new WorkQueue(undefined, 300);
  queue.add('a');
  await queue.take();
  queue.add('a');
  // Node counts a timer from the beginning of the turn that sets it.
  await wait(0);
  const done = performance.now();
  queue.finish('a');
  queue.add('a', 'background');
  queue.add('a');
  queue.add('b');
  expect([queue.depth, await queue.take(), await queue.take()]).toEqual([1, 'b', 'a']);
  expect(performance.now() - done).toBeGreaterThan(150);
  queue.finish('a');
  expect(queue.depth).toBe(0);
});

test('a failure is tried again after its back-off, however short', async () => {
  const queue = new WorkQueue(undefined, 60_000);
  queue.add('a');
  await queue.take();
  queue.retry('a');
  queue.finish('a');
  expect(await queue.take()).toBe('a');
});

test('a closed queue hands out nothing, and ends those who wait', async () => {
  const queue = new WorkQueue();
  const waiting = queue.take();
  queue.add('a');
  await waiting;
  const next = queue.take();
  queue.close();
  queue.add('b');
  expect([await next, await queue.take()]).toEqual([undefined, undefined]);
});

test('delays double up to five minutes, up to half of each is random', () => {
  expect([0, 1, 2, 30].map((failures) => chooseRetryDelay(failures, 0))).toEqual([
    5, 10, 20, 300_000,
  ]);
  expect(chooseRetryDelay(1, 1)).toBe(5);
});
