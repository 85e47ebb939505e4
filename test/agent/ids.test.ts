import { expect, test } from 'vitest';
import {
  isUuid,
  parseIdTime,
  createId,
  buildSystemAssistantId,
} from '../../src/agent/kernel/ids.ts';

test("a graph's own assistant has the id that clients compute", () => {
  expect(buildSystemAssistantId('agent')).toBe('fe096781-5601-53d2-b2f6-0d3403f7e9ca');
});

test('later ids sort after earlier ones, and are version 7', () => {
  const ids = [1, 2, 1_000_000].map((at) => createId(1_700_000_000_000 + at));
  expect(ids.toSorted()).toEqual(ids);
  expect(ids.map(parseIdTime)).toEqual([1, 2, 1_000_000].map((at) => 1_700_000_000_000 + at));
  expect(ids.every((id) => isUuid(id) && id[14] === '7')).toBe(true);
});
