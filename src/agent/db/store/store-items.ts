import type { StoreItem, StoreNamespaces, StoreSearch } from '../../../schema/agent/store-item.ts';
import { openRows, type Place } from '../../encryption/codec.ts';
import { toField } from '../base/json-field.ts';
import { encodePatterns, buildPermitSql, type Patterns } from '../base/permits.ts';
import type { Database, Db } from '../base/pool.ts';
import { filterConditions, buildLabelConditions } from './store-filter.ts';
import { refuseByValue } from '../base/unsearchable.ts';
import {
  hasMany,
  buildNearestSql,
  buildProductSql,
  buildSlicesSql,
  type ItemVectors,
  type Nearness,
} from './store-vectors.ts';

type ItemKey = { namespace: string[]; key: string };

/** Where the value of an item stands. */
export const buildItemPlace = ({ namespace, key }: ItemKey): Place => ({
  kind: 'store.value',
  of: JSON.stringify([...namespace, key]),
});

const openItems = <I extends ItemKey & { value: unknown }>(
  { codec }: Db,
  items: I[],
): Promise<I[]> => openRows<I>(codec, items, { value: buildItemPlace });

const COLUMNS = 'namespace, key, value, created_at, updated_at';
/**
 * Returns the labels of an item that filters of authorization see: its value, and where it lies. `of`: the table's
 * alias.
 */
const buildLabelsSql = (of: '' | 'i.'): string =>
  `(${of}value || jsonb_build_object('namespace', ${of}namespace, 'key', ${of}key))`;
const LABELS = buildLabelsSql('');
const ALIVE = '(expires_at is null or expires_at > now())';

/** `replaceable`: which former item the new one may replace. */
type NewItem = ItemKey & {
  value: object;
  ttl: number | null;
  indexed?: ItemVectors | undefined;
  replaceable?: Patterns;
};

/**
 * Stores an item with its vectors, which replaces the former item as a whole. Returns false when there is a former item
 * that the caller may not replace.
 */
export async function putItem(
  db: Db,
  { namespace, key, value, ttl, indexed, replaceable }: NewItem,
): Promise<boolean> {
  const { dims = 0, index, vectors = [] } = indexed ?? {};
  const stored = await db.codec.seal(buildItemPlace({ namespace, key }), JSON.stringify(value));
  const [row] = await db.query<{ stored: boolean }>({
    name: 'store_put',
    text: `with item as (
        insert into gx.store_item as i (namespace, key, value, ttl_minutes, expires_at, index, indexed_dims)
        values ($1, $2, $3, $4, now() + $4 * interval '1 minute', $5, nullif($6::int, 0))
        on conflict (namespace, key) do update set value = excluded.value, ttl_minutes = excluded.ttl_minutes,
          expires_at = excluded.expires_at, index = excluded.index, indexed_dims = excluded.indexed_dims, updated_at = now()
        where i.expires_at <= now() or ${buildPermitSql(buildLabelsSql('i.'), '$9')}
        returning namespace, key),
      gone as (delete from gx.store_vector v using item where v.namespace = $1 and v.key = $2 and v.n >= $8),
      vectors as (
        insert into gx.store_vector (namespace, key, n, embedding)
        select item.namespace, item.key, s.n - 1, s.slice from item, ${buildSlicesSql('$7', 'nullif($6, 0)')} s
        on conflict (namespace, key, n) do update set embedding = excluded.embedding)
      select exists (select 1 from item) as stored`,
    values: [
      namespace,
      key,
      stored,
      ttl,
      toField(index),
      dims,
      vectors.flat(),
      vectors.length,
      encodePatterns(replaceable),
    ],
  });
  return row!.stored;
}

/** Returns the item. Reading it postpones its expiry, unless asked not to. */
export async function getItem(
  db: Db,
  { namespace, key, refresh = true, seen }: ItemKey & { refresh?: boolean; seen?: Patterns },
): Promise<StoreItem | undefined> {
  const found = await db.query<StoreItem & { expires_at: string | null }>({
    name: 'store_get',
    text: `select ${COLUMNS}, expires_at from gx.store_item where namespace = $1 and key = $2 and ${ALIVE} and ${buildPermitSql(LABELS, '$3')}`,
    values: [namespace, key, encodePatterns(seen)],
  });
  const [stored] = await openItems(db, found);
  if (stored === undefined) return undefined;
  const { expires_at, ...item } = stored;
  if (refresh && expires_at !== null) await refreshItems(db, [item]);
  return item;
}

async function refreshItems(db: Db, items: ItemKey[]): Promise<void> {
  for (const { namespace, key } of items)
    await db.query({
      name: 'store_refresh',
      text: `update gx.store_item set expires_at = now() + ttl_minutes * interval '1 minute'
        where namespace = $1 and key = $2 and ttl_minutes is not null`,
      values: [namespace, key],
    });
}

export async function deleteItem(
  db: Db,
  { namespace, key, deletable }: ItemKey & { deletable?: Patterns },
): Promise<void> {
  await db.query({
    name: 'store_delete',
    text: `delete from gx.store_item where namespace = $1 and key = $2 and ${buildPermitSql(LABELS, '$3')}`,
    values: [namespace, key, encodePatterns(deletable)],
  });
}

export type FoundItem = StoreItem & { score: number | null };

export type Near = { vector: number[]; by: Nearness };

/** Returns items under a namespace, newest first; with a vector, those that have one of its length, nearest first. */
export async function searchItems(
  db: Database,
  search: GuardedSearch,
  near?: Near,
): Promise<FoundItem[]> {
  refuseByValue(db.codec, 'filter', search.filter);
  const items = await (near === undefined ? loadNewest(db, search) : loadNearest(db, search, near));
  if (search.refresh_ttl !== false) await refreshItems(db, items);
  return openItems(db, items);
}

/** `seen`: the items that the caller may see. */
type GuardedSearch = StoreSearch & { seen?: Patterns };

const buildItemConditions = (
  { namespace_prefix, filter, seen }: GuardedSearch,
  values: unknown[],
): string => {
  const prefix = namespace_prefix ?? [];
  const at = values.push(prefix);
  const within = prefix.length === 0 ? [] : [`i.namespace @> $${at}::text[]`];
  return [
    ...within,
    `i.namespace[1:$${values.push(prefix.length)}::int] = $${at}::text[]`,
    ALIVE,
    ...filterConditions(filter ?? {}, (value) => `$${values.push(value)}`),
    ...(seen === undefined
      ? []
      : [buildPermitSql(buildLabelsSql('i.'), `$${values.push(encodePatterns(seen))}`)]),
  ].join(' and ');
};

function loadNewest(db: Db, search: GuardedSearch): Promise<FoundItem[]> {
  const values: unknown[] = [search.limit, search.offset];
  return db.query<FoundItem>({
    text: `select ${COLUMNS}, null::float8 as score from gx.store_item i where ${buildItemConditions(search, values)}
      order by updated_at desc, key limit $1 offset $2`,
    values,
  });
}

/**
 * Returns the items whose nearest vector is nearest. Few vectors are compared one by one, so that a small namespace is
 * searched exactly; many are searched by the index.
 */
async function loadNearest(
  db: Database,
  search: GuardedSearch,
  { vector, by }: Near,
): Promise<FoundItem[]> {
  const { limit, offset } = search;
  const values: unknown[] = [limit, offset, vector];
  const where = buildItemConditions(search, values);
  const indexed = by === 'index' && (await hasMany(db, search.namespace_prefix ?? []));
  const products = indexed
    ? buildNearestSql(vector.length, {
        near: '$3',
        over: `$${values.push(5 * (limit + offset) + 50)}`,
        where,
      })
    : `select i.namespace, i.key, ${buildProductSql(by, '$3')} as product from gx.store_item i join gx.store_vector v using (namespace, key)
        where cardinality(v.embedding) = cardinality($3::real[]) and ${where}`;
  const statement = {
    text: `with near as materialized (${products}),
        best as (select namespace, key, max(product) as score from near group by namespace, key order by score desc, key limit $1 offset $2)
      select ${COLUMNS}, score from best join gx.store_item i using (namespace, key) order by score desc, key`,
    values,
  };
  if (!indexed) return db.query<FoundItem>(statement);
  return db.transaction(async (tx) => {
    await tx.query({ text: 'set local hnsw.iterative_scan = strict_order' });
    return tx.query<FoundItem>(statement);
  });
}

/** Returns namespaces; `*` in a prefix or suffix stands for any label. */
export async function listNamespaces(
  db: Db,
  search: StoreNamespaces & { seen?: Patterns },
): Promise<string[][]> {
  const { prefix, suffix, max_depth, limit, offset, seen } = search;
  const values: unknown[] = [max_depth ?? null, limit, offset];
  const addParameter = (value: unknown): string => `$${values.push(value)}`;
  const conditions = [
    ALIVE,
    ...buildLabelConditions(prefix ?? [], 'prefix', addParameter),
    ...buildLabelConditions(suffix ?? [], 'suffix', addParameter),
  ];
  if (seen !== undefined)
    conditions.push(buildPermitSql(LABELS, addParameter(encodePatterns(seen))));
  const rows = await db.query<{ namespace: string[] }>({
    text: `select distinct case when $1::int is null then namespace else namespace[1:$1::int] end as namespace
      from gx.store_item where ${conditions.join(' and ')} order by 1 limit $2 offset $3`,
    values,
  });
  return rows.map((row) => row.namespace);
}

/** Deletes so many items that have expired, and returns how many there were. */
export async function deleteExpiredItems(db: Db, limit: number): Promise<number> {
  const rows = await db.query({
    text: `with due as materialized (
        select namespace, key from gx.store_item where expires_at < now() order by expires_at limit $1 for update skip locked)
      delete from gx.store_item i using due where i.namespace = due.namespace and i.key = due.key returning 1`,
    values: [limit],
  });
  return rows.length;
}
