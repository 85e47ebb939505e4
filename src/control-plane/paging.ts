import { Type } from 'typebox';

export const LONGEST_PAGE = 100;

/** The two parameters that every list takes. */
export const paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LONGEST_PAGE, default: 20 })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0 })),
};

export type Paging = { limit?: number; offset?: number };

/** One page and the offset of the next. */
export function pageOf<T>(items: T[], { limit = 20, offset = 0 }: Paging): { items: T[]; offset: number } {
  const page = items.slice(offset, offset + limit);
  return { items: page, offset: offset + page.length };
}

/** The same of what passes a test, without looking at more than the page needs. */
export function firstPageOf<T>(items: readonly T[], { limit = 20, offset = 0 }: Paging, passes: (item: T) => boolean) {
  const found: T[] = [];
  for (const item of items) {
    if (found.length === offset + limit) break;
    if (passes(item)) found.push(item);
  }
  return pageOf(found, { limit, offset });
}

type Dated = { metadata: { creationTimestamp?: string; name: string; namespace?: string } };

/** Newest first; names decide within a second, so that pages neither repeat nor skip. */
export function newestCreatedFirst(a: Dated, b: Dated): number {
  const [timeA, timeB] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (timeA !== timeB) return timeA < timeB ? 1 : -1;
  if (a.metadata.name !== b.metadata.name) return a.metadata.name < b.metadata.name ? -1 : 1;
  const [spaceA, spaceB] = [a.metadata.namespace ?? '', b.metadata.namespace ?? ''];
  return spaceA === spaceB ? 0 : spaceA < spaceB ? -1 : 1;
}
