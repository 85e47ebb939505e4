import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/agent/db/base/pool.ts';
import {
  deleteItem,
  putItem,
  searchItems,
  type Near,
} from '../../../src/agent/db/store/store-items.ts';
import {
  buildNearestSql,
  loadVectorSupport,
  prepareVectors,
  setVectors,
  loadUnindexedItems,
} from '../../../src/agent/db/store/store-vectors.ts';
import { postgresWithVectors } from '../../kit/postgres-vector.ts';

/* The SQL of search by meaning, with pgvector and without. */

let db: Database;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ db, close } = await postgresWithVectors());
});

afterAll(() => close());

const unit = (...numbers: number[]): number[] =>
  numbers.map((number) => number / Math.hypot(...numbers));

const put = (
  key: string,
  vectors: number[][],
  namespace = ['paint'],
  value: object = {},
): Promise<unknown> =>
  putItem(db, {
    namespace,
    key,
    value,
    ttl: null,
    indexed: { dims: 3, index: undefined, vectors },
  });

const found = async (
  near: Near,
  search: { namespace_prefix?: string[]; filter?: Record<string, unknown>; limit?: number } = {},
): Promise<string[]> => {
  const items = await searchItems(
    db,
    { namespace_prefix: ['paint'], limit: 10, offset: 0, ...search },
    near,
  );
  return items.map(({ key, score }) => `${key} ${(score ?? 0).toFixed(2)}`);
};

describe('items are found by meaning alike', () => {
  beforeAll(async () => {
    await put('red', [unit(1, 0, 0)]);
    await put('mixed', [unit(0, 1, 0), unit(1, 0, 1)]);
    await put('blue', [unit(0, 0, 1)], ['paint', 'cold'], { shade: 'dark' });
    await put('elsewhere', [unit(1, 0, 0)], ['stone']);
    await put('shorter', []);
  });

  const expected = ['red 1.00', 'mixed 0.71', 'blue 0.00'];

  test('in SQL alone', async () => {
    expect(await loadVectorSupport(db, 3)).toBe('sql');
    expect(await found({ vector: [1, 0, 0], by: 'sql' })).toEqual(expected);
  });

  test('by pgvector, which is made ready once', async () => {
    expect(await Promise.all([prepareVectors(db, 3), prepareVectors(db, 3)])).toEqual([
      'index',
      'index',
    ]);
    expect(await loadVectorSupport(db, 3)).toBe('index');
    expect(await found({ vector: [1, 0, 0], by: 'pgvector' })).toEqual(expected);
    expect(await found({ vector: [1, 0, 0], by: 'index' })).toEqual(expected);
  });

  test('with a filter, under a deeper namespace', async () => {
    const near: Near = { vector: unit(1, 0, 1), by: 'pgvector' };
    expect(await found(near, { filter: { shade: 'dark' } })).toEqual(['blue 0.71']);
    expect(await found(near, { namespace_prefix: ['paint', 'cold'] })).toEqual(['blue 0.71']);
  });

  test('after an item was written again with fewer texts, or deleted', async () => {
    await put('mixed', [unit(0, 1, 0)]);
    expect(await found({ vector: [1, 0, 0], by: 'pgvector' })).toEqual([
      'red 1.00',
      'blue 0.00',
      'mixed 0.00',
    ]);
    await deleteItem(db, { namespace: ['paint'], key: 'mixed' });
    expect(await found({ vector: [0, 1, 0], by: 'pgvector' })).toEqual(['blue 0.00', 'red 0.00']);
  });
});

test('many vectors are searched by the index, the filter included', async () => {
  await prepareVectors(db, 4);
  await db.query({
    text: `with item as (insert into gx.store_item (namespace, key, value, indexed_dims)
        select array['many'], n::text, jsonb_build_object('even', n % 2 = 0), 4 from generate_series(1, 5100) n returning namespace, key)
      insert into gx.store_vector select namespace, key, 0, array[cos(key::int / 3500.0), sin(key::int / 3500.0), 0, 0]::real[] from item`,
  });
  await db.query({ text: 'analyze gx.store_item, gx.store_vector' });
  const near: Near = { vector: [Math.cos(1), Math.sin(1), 0, 0], by: 'index' };
  const sql = buildNearestSql(4, { near: '$1', over: '$2', where: `i.namespace @> '{many}'` });
  const plan = await db.query<{ 'QUERY PLAN': string }>({
    text: `explain ${sql}`,
    values: [near.vector, 75],
  });
  expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toContain(
    'Index Scan using store_vector_4',
  );
  const all = await found(near, { namespace_prefix: ['many'], limit: 5 });
  expect(all).toHaveLength(5);
  expect(all.every((item) => item.endsWith(' 1.00'))).toBe(true);
  const even = await searchItems(
    db,
    { namespace_prefix: ['many'], filter: { even: true }, limit: 5, offset: 0 },
    near,
  );
  expect(even.map(({ value }) => value)).toEqual(Array.from({ length: 5 }, () => ({ even: true })));
});

test('items from before the index are taken up once, unless they were kept out or written again', async () => {
  const namespace = ['old'];
  const store = (key: string, index?: unknown): Promise<unknown> =>
    putItem(db, {
      namespace,
      key,
      value: { key },
      ttl: null,
      ...(index !== undefined && { indexed: { dims: 0, index, vectors: [] } }),
    });
  await store('plain');
  await store('hidden', false);
  await store('racing');
  const waiting = (await loadUnindexedItems(db, 2, 100_000)).filter(
    (item) => item.namespace[0] === 'old',
  );
  expect(waiting.map(({ key }) => key).toSorted()).toEqual(['plain', 'racing']);
  await putItem(db, {
    namespace,
    key: 'racing',
    value: {},
    ttl: null,
    indexed: { dims: 2, index: undefined, vectors: [unit(1, 1)] },
  });
  for (const item of waiting)
    await setVectors(db, item, { dims: 2, index: undefined, vectors: [unit(1, 0)] });
  expect(await found({ vector: [1, 0], by: 'pgvector' }, { namespace_prefix: namespace })).toEqual([
    'plain 1.00',
    'racing 0.71',
  ]);
  expect(
    (await loadUnindexedItems(db, 2, 100_000)).filter((item) => item.namespace[0] === 'old'),
  ).toEqual([]);
});
