import { Invalid } from '../../../errors.ts';
import type { ThreadSearch } from '../../../schema/agent/thread.ts';
import { isUuid } from '../../kernel/ids.ts';

type Sorted = Pick<ThreadSearch, 'sort_by' | 'sort_order'>;

/** A column by which threads are sorted. A status is none, because "busy" is no column. */
const COLUMNS = ['thread_id', 'created_at', 'updated_at', 'state_updated_at'] as const;
export type SortedColumn = (typeof COLUMNS)[number];

/** Where a page begins: behind the thread with this value of the sorted column, and this id. */
export type ThreadCursor = { value: string; thread_id: string };

/** Microseconds since 1970, as a time of the database has them. */
const TIME = /^\d{1,16}$/;

/** Returns how threads are sorted; a column of undefined stands for their statuses. */
export function threadOrder({ sort_by: by, sort_order: order }: Sorted): { column: SortedColumn | undefined; order: 'asc' | 'desc' } {
  return { column: by === 'status' ? undefined : (by ?? 'updated_at'), order: order ?? 'desc' };
}

/** Returns the text that a client sends to get the next page of the same search. */
export function cursorText(sorted: Sorted, { value, thread_id }: ThreadCursor): string {
  const { column, order } = threadOrder(sorted);
  return Buffer.from([column, order, value, thread_id].join('|')).toString('base64url');
}

/** Returns the place that a text names. Throws `Invalid` for one that no page of a search sorted like this has had. */
export function threadCursorIn(text: string, sorted: Sorted): ThreadCursor {
  const { column, order } = threadOrder(sorted);
  const parts = Buffer.from(text, 'base64url').toString().split('|');
  const [by, direction, value = '', thread_id = ''] = parts;
  if (column === undefined) throw refusal('a search by status has no cursor; use offset');
  const isWhole = column === 'thread_id' ? value === thread_id : TIME.test(value);
  if (parts.length !== 4 || !isUuid(thread_id) || !isWhole) throw refusal('is none of this server');
  if (by !== column || direction !== order) throw refusal(`is one of a search by ${by} ${direction}, not by ${column} ${order}`);
  return { value, thread_id };
}

const refusal = (msg: string): Invalid => new Invalid([{ loc: ['body', 'cursor'], msg, type: 'value_error' }]);
