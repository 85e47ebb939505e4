import { expect, test } from 'vitest';
import { Limiter } from '../../src/http/limits/limiter.ts';

test('lets so many in at a time, in the order in which they came', async () => {
  const gate = new Limiter(2);
  const order: string[] = [];
  let inside = 0;
  let most = 0;
  const work = (name: string) => async (): Promise<void> => {
    inside += 1;
    most = Math.max(most, inside);
    order.push(name);
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
    inside -= 1;
  };
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => gate.run(work(name))));
  expect([order.join(''), most]).toEqual(['abcde', 2]);
});

test('between two works that wait for nothing the event loop takes a turn', async () => {
  const gate = new Limiter(1);
  const order: string[] = [];
  setImmediate(() => order.push('turn'));
  await Promise.all(['first', 'second'].map((name) => gate.run(async () => void order.push(name))));
  expect(order).toEqual(['first', 'turn', 'second']);
});

test('one that fails lets the next one in', async () => {
  const gate = new Limiter(1);
  const failing = gate.run(() => Promise.reject(new Error('no')));
  const next = gate.run(() => Promise.resolve('in'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('in');
});
