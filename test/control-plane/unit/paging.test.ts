import { expect, test } from 'vitest';
import { takeFirstPage, takePage } from '../../../src/control-plane/paging.ts';

const items = Array.from({ length: 25 }, (_, index) => index);

test.each([
  ['twenty when no limit is given', {}, items.slice(0, 20), 20],
  ['as many as the limit says', { limit: 3 }, [0, 1, 2], 3],
  ['what is left', { offset: 20 }, [20, 21, 22, 23, 24], 25],
  ['nothing behind the end', { offset: 30 }, [], 30],
])('a page holds %s, and tells where the next one begins', (_, query, page, offset) => {
  expect(takePage(items, query)).toEqual({ items: page, offset });
  expect(takeFirstPage(items, query, () => true)).toEqual({ items: page, offset });
});

test('offsets count what passes the test alone', () => {
  expect(takeFirstPage(items, { limit: 2, offset: 2 }, (item) => item % 2 === 0)).toEqual({
    items: [4, 6],
    offset: 4,
  });
});
