import { expect, test } from 'vitest';
import { createId } from '../../../src/agent/kernel/ids.ts';
import { ReadPositions } from '../../../src/agent/stream/thread-events.ts';

const NOW = 1_800_000_000_000;
const at = (ms: number, seq = 1): { ms: number; seq: number } => ({ ms, seq });

test('of a run that was under way before, a new reader hears what happens from now on', () => {
  const positions = ReadPositions.buildFrom(undefined, NOW);
  const run = createId(NOW - 5000);
  expect([
    positions.advance(run, at(NOW - 10)),
    positions.advance(run, at(NOW + 10, 2)),
    positions.advance(run, at(NOW + 10, 2)),
  ]).toEqual([false, true, false]);
});

test('a run that was made later is told from its first event, though the clock of its worker is behind', () => {
  const positions = ReadPositions.buildFrom(undefined, NOW);
  const run = createId(NOW + 1);
  expect(positions.getCursor(run)).toEqual({ ms: 0, seq: 0 });
  expect([
    positions.advance(run, at(NOW - 300)),
    positions.advance(run, at(NOW - 290, 2)),
    positions.advance(run, at(NOW - 300)),
  ]).toEqual([true, true, false]);
  expect(positions.getCursor(run)).toEqual(at(NOW - 290, 2));
});

test('who comes back hears nothing twice', () => {
  const positions = ReadPositions.buildFrom(at(NOW, 7));
  const run = createId(NOW + 50);
  expect([positions.advance(run, at(NOW, 7)), positions.advance(run, at(NOW, 8))]).toEqual([
    false,
    true,
  ]);
});

test('of two runs the end of one may come after the beginning of the next', () => {
  const positions = ReadPositions.buildFrom(undefined, NOW);
  const [first, second] = [createId(NOW - 1), createId(NOW + 20)];
  expect([
    positions.advance(second, at(NOW + 40)),
    positions.advance(first, at(NOW + 30, 9)),
  ]).toEqual([true, true]);
});

test('with more runs than it remembers, the ones told long ago are not told again', () => {
  const positions = ReadPositions.buildFrom(at(NOW, 0));
  const runs = Array.from({ length: 300 }, (_, turn) => createId(NOW + turn * 10));
  for (const [turn, run] of runs.entries())
    expect(positions.advance(run, at(NOW + turn * 10 + 5))).toBe(true);
  expect(positions.advance(runs[0]!, at(NOW + 5))).toBe(false);
});
