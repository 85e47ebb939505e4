import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Db } from '../../../src/agent/db/base/pool.ts';
import { searchThreads } from '../../../src/agent/db/threads/thread-search.ts';
import type { ThreadSearch } from '../../../src/schema/agent/thread.ts';
import { freshOpenDatabase, type OpenDatabase } from '../../kit/postgres-opened.ts';

/* Many threads, of which always ten were changed at the same time. */

const MANY = Number(process.env['CURSOR_THREADS'] ?? 50_000);
const LIMIT = 50;

let on: OpenDatabase;

beforeAll(async () => {
  on = await freshOpenDatabase();
  await on.database
    .sql(`insert into gx.thread (thread_id, updated_at) select gen_random_uuid(), '2026-01-01'::timestamptz + (n / 10) * interval '1 second'
    from generate_series(1, ${MANY}) n`);
  await on.database.sql('analyze gx.thread');
}, 600_000);
afterAll(() => on.drop());

type Plan = {
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  'Node Type': string;
  Plans?: Plan[];
};

const rowsRead = (plan: Plan): number =>
  Math.max(
    plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0),
    ...(plan.Plans ?? []).map(rowsRead),
  );

/** Searches, and returns besides how many rows the database has looked at. */
async function searched(
  search: Partial<ThreadSearch>,
): Promise<{ ids: string[]; cursor: string | undefined; read: number }> {
  let read = 0;
  const db: Db = {
    ...on.db,
    codec: on.db.codec,
    query: async (query) => {
      const [row] = await on.db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
        ...query,
        text: `explain (analyze, format json) ${query.text}`,
      });
      read = rowsRead(row!['QUERY PLAN'][0].Plan);
      return on.db.query(query);
    },
  };
  const { rows, cursor } = await searchThreads(db, {
    limit: LIMIT,
    offset: 0,
    select: ['thread_id'],
    ...search,
  });
  return { ids: rows.slice(0, LIMIT).map(({ thread_id }) => thread_id!), cursor, read };
}

test.each(['asc', 'desc'] as const)(
  'a page by cursor costs the same at any depth, sorted %s',
  async (sort_order) => {
    for (const depth of [0.1, 0.5, 0.99]) {
      const offset = Math.floor((MANY * depth) / LIMIT) * LIMIT;
      const before = await searched({ offset: offset - LIMIT, sort_order });
      const byOffset = await searched({ offset, sort_order });
      const byCursor = await searched({ cursor: before.cursor!, sort_order });
      expect(byCursor.ids).toEqual(byOffset.ids);
      expect(byCursor.cursor).toBe(byOffset.cursor);
      expect(byCursor.read).toBeLessThan(3 * LIMIT);
      expect(byOffset.read).toBeGreaterThan(offset);
    }
  },
);

test('the last page names no next one', async () => {
  const { cursor } = await searched({ offset: MANY - 2 * LIMIT });
  const last = await searched({ cursor: cursor! });
  expect([last.ids.length, last.cursor]).toEqual([LIMIT, undefined]);
});
