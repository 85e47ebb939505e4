import type { Database, Db } from '../base/pool.ts';

/*
 * Searches by meaning. Unit vectors are kept in real[] columns, which every Postgres has. Where the database has
 * pgvector, it compares them, and finds the nearest of many by an index. Facts about pgvector are from its README (0.8:
 * iterative scans, at most 2,000 dimensions in an index).
 */

/**
 * The most vectors whose nearest are found by comparing all, which is exact, and takes some ten milliseconds with
 * pgvector.
 */
const EXACT_UP_TO = 5000;
const INDEXABLE_DIMS = 2000;
const LOCK = 7_233_413;

/** How this database compares vectors: in SQL, one by one with pgvector, or by an index of pgvector. */
export type Nearness = 'sql' | 'pgvector' | 'index';

/** Vectors of an item's texts (all of `dims` numbers); an item without any is left out of searches by meaning. */
export type ItemVectors = { dims: number; index: unknown; vectors: number[][] };

/**
 * Makes pgvector and its index for vectors of this length ready. Without the extension, or the right to create it,
 * search stays in SQL.
 */
export async function prepareVectors(db: Database, dims: number): Promise<Nearness> {
  const available = await db.query({
    text: `select 1 from pg_available_extensions where name = 'vector'`,
  });
  if (available.length === 0) return 'sql';
  await db.transaction(async (tx) => {
    // Servers of one deployment start at the same time, so they take turns.
    await tx.query({ text: 'select pg_advisory_xact_lock($1)', values: [LOCK] });
    await tx.query({ text: 'create extension if not exists vector' });
    if (dims <= INDEXABLE_DIMS && (await hasIterativeScans(tx)))
      await tx.query({
        text: `create index if not exists ${formatIndexName(dims)} on gx.store_vector
          using hnsw ((embedding::vector(${dims})) vector_ip_ops) where cardinality(embedding) = ${dims}`,
      });
  });
  return loadVectorSupport(db, dims);
}

const formatIndexName = (dims: number): string => `store_vector_${dims}`;

async function hasIterativeScans(db: Db): Promise<boolean> {
  const [row] = await db.query<{ modern: boolean }>({
    text: `select string_to_array(extversion, '.')::int[] >= '{0,8}' as modern from pg_extension where extname = 'vector'`,
  });
  return row?.modern === true;
}

/** Returns the features that the database has now for vectors of this length. */
export async function loadVectorSupport(db: Db, dims: number): Promise<Nearness> {
  const [found] = await db.query<{ extension: boolean; index: boolean }>({
    name: 'vector_state',
    text: `select exists (select 1 from pg_extension where extname = 'vector') as extension, to_regclass($1) is not null as index`,
    values: [`gx.${formatIndexName(dims)}`],
  });
  if (found?.extension !== true) return 'sql';
  return found.index ? 'index' : 'pgvector';
}

/** Returns whether more vectors lie under the namespace than are compared one by one. */
export async function hasMany(db: Db, prefix: string[]): Promise<boolean> {
  const rows = await db.query({
    name: 'vector_many',
    text: `select 1 from gx.store_vector where namespace @> $1::text[] and namespace[1:$2::int] = $1::text[] offset $3 limit 1`,
    values: [prefix, prefix.length, EXACT_UP_TO],
  });
  return rows.length > 0;
}

/**
 * Returns SQL of how near a row `v` of store_vector is to the parameter; the product of unit vectors is their cosine.
 */
export const buildProductSql = (by: Nearness, parameter: string): string =>
  by === 'sql'
    ? `(select sum(x * y)::float8 from unnest(v.embedding, ${parameter}::real[]) as pair (x, y))`
    : `-(v.embedding::vector <#> ${parameter}::real[]::vector)`;

/**
 * Returns SQL that finds the nearest vectors by the index. `over` is more than are wanted, because an item may have
 * several.
 */
export const buildNearestSql = (
  dims: number,
  { near, over, where }: { near: string; over: string; where: string },
): string => {
  const distance = `v.embedding::vector(${dims}) <#> ${near}::real[]::vector(${dims})`;
  return `select i.namespace, i.key, -(${distance}) as product from gx.store_vector v join gx.store_item i using (namespace, key)
    where cardinality(v.embedding) = ${dims} and ${where} order by ${distance} limit ${over}`;
};

export type Unindexed = {
  namespace: string[];
  key: string;
  value: object;
  index: unknown;
  updated_at: string;
};

/** Returns items that were stored before there was an index of this length. */
export function loadUnindexedItems(db: Db, dims: number, limit: number): Promise<Unindexed[]> {
  return db.query<Unindexed>({
    name: 'vector_missing',
    text: `select namespace, key, value, index, updated_at from gx.store_item
      where indexed_dims is distinct from $1 and index is distinct from 'false' limit $2`,
    values: [dims, limit],
  });
}

/** Gives an item its vectors, unless the item was written again meanwhile, because then its writer has done so. */
export async function setVectors(
  db: Db,
  { namespace, key, updated_at }: Unindexed,
  { dims, vectors }: ItemVectors,
): Promise<void> {
  await db.query({
    name: 'vector_set',
    text: `with item as (
        update gx.store_item set indexed_dims = $4 where namespace = $1 and key = $2 and updated_at = $3 returning namespace, key),
      gone as (delete from gx.store_vector v using item where v.namespace = item.namespace and v.key = item.key and v.n >= $6)
      insert into gx.store_vector (namespace, key, n, embedding)
      select item.namespace, item.key, s.n - 1, s.slice from item, ${buildSlicesSql('$5', '$4')} s
      on conflict (namespace, key, n) do update set embedding = excluded.embedding`,
    values: [namespace, key, updated_at, dims, vectors.flat(), vectors.length],
  });
}

/**
 * Returns SQL that makes one row of each `dims` numbers of a flat array, because pg sends arrays of arrays as text that
 * grows with every quote.
 */
export const buildSlicesSql = (flat: string, dims: string): string =>
  `(select n, (${flat}::real[])[(n - 1) * ${dims}::int + 1 : n * ${dims}::int] as slice
    from generate_series(1, cardinality(${flat}::real[]) / ${dims}::int) as n)`;
