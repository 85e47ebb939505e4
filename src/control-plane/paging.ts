import { Type } from 'typebox';

export const LONGEST_PAGE = 100;

/** The two query parameters of every list. */
export const paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LONGEST_PAGE, default: 20 })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0 })),
};

export type Paging = { limit?: number; offset?: number };

/** Returns one page and the offset of the next. */
export function takePage<T>(
  items: T[],
  { limit = 20, offset = 0 }: Paging,
): { items: T[]; offset: number } {
  const page = items.slice(offset, offset + limit);
  return { items: page, offset: offset + page.length };
}

/** Returns the first page of the items that pass a test, and tests no more of them than it needs. */
export function takeFirstPage<T>(
  items: readonly T[],
  { limit = 20, offset = 0 }: Paging,
  passes: (item: T) => boolean,
) {
  const found: T[] = [];
  for (const item of items) {
    if (found.length === offset + limit) break;
    if (passes(item)) found.push(item);
  }
  return takePage(found, { limit, offset });
}
