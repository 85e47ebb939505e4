import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { searchThreads } from '../../../src/agent/db/threads/thread-search.ts';
import { insertThreads, setThreadState } from '../../../src/agent/db/threads/threads.ts';
import type { ThreadSearch } from '../../../src/schema/agent/thread.ts';
import { freshOpenDatabase, type OpenDatabase } from '../../kit/postgres-opened.ts';

let on: OpenDatabase;
const names = new Map<string, string>();

/** Threads in the order in which they were written: the last one is the newest. */
const THREADS = [
  { name: 'failed', status: 'error', values: { topic: 'rain', n: 1 } },
  { name: 'asks', status: 'interrupted', values: { topic: 'rain', n: 2, ready: true } },
  {
    name: 'rests',
    status: 'idle',
    values: { topic: 'sun', n: 2, nothing: null, list: ['a', { b: 1 }] },
  },
  { name: 'works', status: 'idle', values: { topic: 'sun' } },
  { name: 'says', status: 'idle', values: 'only a text' },
] as const;

async function found(search: Partial<ThreadSearch>): Promise<string[]> {
  const { rows } = await searchThreads(on.db, { limit: 10, offset: 0, ...search });
  return rows.map(({ thread_id }) => names.get(thread_id!)!);
}

beforeAll(async () => {
  on = await freshOpenDatabase();
  for (const { name, status, values } of THREADS) {
    const thread_id = randomUUID();
    names.set(thread_id, name);
    await insertThreads(on.db, [{ thread_id, metadata: { name } }]);
    await setThreadState(on.db, thread_id, { status, values, interrupts: {} });
    if (name === 'works')
      await on.database.sql(
        `insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, kwargs, multitask_strategy)
          values (gen_random_uuid(), $1, gen_random_uuid(), 'none', 'running', '{}', 'enqueue')`,
        [thread_id],
      );
  }
});

afterAll(() => on.drop());

test('threads made at the same time under one id: the first has it', async () => {
  const thread_id = randomUUID();
  const made = await insertThreads(on.db, [
    { thread_id, metadata: { of: 'first' } },
    { thread_id, metadata: { of: 'second' } },
  ]);
  expect(made.map((thread) => thread?.metadata)).toEqual([{ of: 'first' }, undefined]);
  await on.database.sql('delete from gx.thread where thread_id = $1', [thread_id]);
});

test('a field that is selected twice is shown once, however the threads are sorted', async () => {
  for (const sort_by of ['status', 'created_at'] as const) {
    const { rows } = await searchThreads(on.db, {
      limit: 1,
      offset: 0,
      sort_by,
      select: ['metadata', 'status', 'metadata'],
    });
    expect(Object.keys(rows[0] ?? {})).toEqual(['metadata', 'status']);
  }
});

describe('threads found by their state', () => {
  test.each<[string, Record<string, unknown>, string[]]>([
    ['a text', { topic: 'rain' }, ['asks', 'failed']],
    ['a number and a text', { topic: 'sun', n: 2 }, ['rests']],
    ['a truth', { ready: true }, ['asks']],
    ['an explicit nothing', { nothing: null }, ['rests']],
    ['a part of a list', { list: [{ b: 1 }] }, ['rests']],
    ['a part of a list, and a text', { list: ['a'], topic: 'sun' }, ['rests']],
    ['a text under another name', { n: 'rain' }, []],
  ])('%s', async (_, values, expected) => {
    expect(await found({ values })).toEqual(expected);
  });
});

describe('threads by status', () => {
  test('a thread with an unfinished run is busy, whatever it rested in', async () => {
    expect(await found({ status: 'busy' })).toEqual(['works']);
    expect(await found({ status: 'idle' })).toEqual(['says', 'rests']);
  });

  test('sorted by the name of the status, newest first within it, page by page', async () => {
    const ascending = ['works', 'failed', 'says', 'rests', 'asks'];
    expect(await found({ sort_by: 'status', sort_order: 'asc' })).toEqual(ascending);
    expect(await found({ sort_by: 'status' })).toEqual([
      'asks',
      'says',
      'rests',
      'failed',
      'works',
    ]);
    // One row more than asked for shows that there is a next page.
    expect(await found({ sort_by: 'status', sort_order: 'asc', limit: 2, offset: 1 })).toEqual(
      ascending.slice(1, 4),
    );
    expect(await found({ sort_by: 'status', status: 'idle', values: { topic: 'sun' } })).toEqual([
      'rests',
    ]);
  });

  test('only what was selected comes back', async () => {
    const { rows } = await searchThreads(on.db, {
      limit: 1,
      offset: 0,
      sort_by: 'status',
      select: ['status', 'values'],
    });
    expect(rows[0]).toEqual({ status: 'interrupted', values: THREADS[1].values });
  });
});
