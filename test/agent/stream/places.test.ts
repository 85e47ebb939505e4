import { expect, test } from 'vitest';
import { newId } from '../../../src/agent/ids.ts';
import { placesFrom } from '../../../src/agent/stream/places.ts';

const NOW = 1_800_000_000_000;
const at = (ms: number, seq = 1): { ms: number; seq: number } => ({ ms, seq });

test('of a run that was under way before, a new reader hears what happens from now on', () => {
  const places = placesFrom(undefined, NOW);
  const run = newId(NOW - 5000);
  expect([places.take(run, at(NOW - 10)), places.take(run, at(NOW + 10, 2)), places.take(run, at(NOW + 10, 2))]).toEqual([
    false,
    true,
    false,
  ]);
});

test('a run that was made later is told from its first event, though the clock of its worker is behind', () => {
  const places = placesFrom(undefined, NOW);
  const run = newId(NOW + 1);
  expect(places.after(run)).toEqual({ ms: 0, seq: 0 });
  expect([places.take(run, at(NOW - 300)), places.take(run, at(NOW - 290, 2)), places.take(run, at(NOW - 300))]).toEqual([
    true,
    true,
    false,
  ]);
  expect(places.after(run)).toEqual(at(NOW - 290, 2));
});

test('who comes back hears nothing twice', () => {
  const places = placesFrom(at(NOW, 7));
  const run = newId(NOW + 50);
  expect([places.take(run, at(NOW, 7)), places.take(run, at(NOW, 8))]).toEqual([false, true]);
});

test('of two runs the end of one may come after the beginning of the next', () => {
  const places = placesFrom(undefined, NOW);
  const [first, second] = [newId(NOW - 1), newId(NOW + 20)];
  expect([places.take(second, at(NOW + 40)), places.take(first, at(NOW + 30, 9))]).toEqual([true, true]);
});

test('with more runs than it remembers, the ones told long ago are not told again', () => {
  const places = placesFrom(at(NOW, 0));
  const runs = Array.from({ length: 300 }, (_, turn) => newId(NOW + turn * 10));
  for (const [turn, run] of runs.entries()) expect(places.take(run, at(NOW + turn * 10 + 5))).toBe(true);
  expect(places.take(runs[0]!, at(NOW + 5))).toBe(false);
});
