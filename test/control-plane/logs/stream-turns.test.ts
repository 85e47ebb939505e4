import { expect, test } from 'vitest';
import { StreamTurns } from '../../../src/control-plane/logs/stream-turns.ts';

test('however many streams have lines to send, they send them one after the other, with time for other requests in between', async () => {
  const turns = new StreamTurns();
  const { signal } = new AbortController();
  const began = performance.now();
  const order: number[] = [];
  await Promise.all(
    Array.from({ length: 20 }, (_, stream) => turns.begin(signal).then(() => order.push(stream))),
  );
  expect(order).toEqual(Array.from({ length: 20 }, (_, stream) => stream));
  // The first turn begins at once. A timer of Node may fire a millisecond early.
  expect(performance.now() - began).toBeGreaterThan(19 * 5 - 2);
});

test('a stream whose client leaves does not wait for its turn, and takes none from the others', async () => {
  const turns = new StreamTurns();
  const leaving = new AbortController();
  const left = Array.from({ length: 2000 }, () => turns.begin(leaving.signal));
  const began = performance.now();
  const staying = turns.begin(new AbortController().signal);
  leaving.abort();
  await Promise.all([...left, staying]);
  expect(performance.now() - began).toBeLessThan(2000 * 5);
});
