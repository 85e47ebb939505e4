import { expect, test } from 'vitest';
import { growthOf } from '../../src/operator/heap.ts';

test('a large heap is collected sooner than V8 likes, a small one as V8 likes', () => {
  expect([growthOf(60 * 2 ** 20), growthOf(400 * 2 ** 20)]).toEqual([0, 20]);
});
