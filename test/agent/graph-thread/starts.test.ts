import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Starts } from '../../../src/agent/graph-thread/starts.ts';

/** Asks for a turn for each name, and returns the list that the names of those that begin go to. */
function asked(starts: Starts, names: string[], begun: string[] = []): string[] {
  for (const name of names) void starts.waitForTurn().then(() => begun.push(name));
  return begun;
}

test('two runs of seven begin in each turn of the event loop, in their order', async () => {
  const begun = asked(new Starts(), ['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  const inTurns: string[][] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    await Promise.resolve();
    inTurns.push(begun.splice(0));
    await nextTurn();
  }
  expect(inTurns).toEqual([['a', 'b'], ['c', 'd'], ['e', 'f'], ['g'], []]);
});

test('a run that comes while others wait begins behind them', async () => {
  const starts = new Starts();
  const begun = asked(starts, ['a', 'b', 'c']);
  await nextTurn();
  asked(starts, ['d', 'e'], begun);
  await Promise.resolve();
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  await nextTurn();
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('a run alone waits for no turn', async () => {
  const starts = new Starts();
  await nextTurn();
  const begun = asked(starts, ['a']);
  await Promise.resolve();
  expect(begun).toEqual(['a']);
});
