import { expect, test } from 'vitest';
import { buildWholeList } from '../../../src/agent/db/checkpoints/list-rows.ts';
import { Lists, type ListElement } from '../../../src/agent/run-storage/lists.ts';

const element = (weight: number): ListElement => ({ text: '0', weight });
const list = (weight: number) => new Map([['messages', buildWholeList('1', [element(weight)])]]);

test('the lists of the threads that were used last are remembered, up to so many bytes', () => {
  const lists = new Lists(100_000);
  for (let thread = 0; thread < 1000; thread += 1)
    lists.cacheLists([`thread-${thread}`, '', 'checkpoint'], list(500));
  const remembered = Array.from({ length: 1000 }, (_, thread) => lists.has(`thread-${thread}`, ''));
  expect(remembered.filter(Boolean)).toHaveLength(100);
  expect(remembered.slice(900).every(Boolean)).toBe(true);
});

test('a thread without lists is not remembered, and one whose lists are gone is forgotten', () => {
  const lists = new Lists(100_000);
  lists.cacheLists(['thread', '', 'first'], new Map());
  expect(lists.has('thread', '')).toBe(false);
  lists.cacheLists(['thread', '', 'second'], list(10));
  lists.cacheLists(['thread', '', 'third'], new Map());
  expect(lists.getLists(['thread', '', 'second'])?.size).toBe(1);
  expect(lists.getLists(['thread', '', 'third'])).toBeUndefined();
  lists.cacheLists(['thread', '', 'second'], new Map());
  expect(lists.has('thread', '')).toBe(false);
});
