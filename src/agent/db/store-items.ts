import type { StoreItem, StoreNamespaces, StoreSearch } from '../../schema/store-item.ts';
import type { Db } from './pool.ts';

type Place = { namespace: string[]; key: string };

const COLUMNS = 'namespace, key, value, created_at, updated_at';
const ALIVE = '(expires_at is null or expires_at > now())';

export async function putItem(db: Db, item: Place & { value: object; ttl: number | null; vectors?: number[][] }): Promise<void> {
  await db.query({
    name: 'store_put',
    text: `insert into gx.store_item (namespace, key, value, ttl_minutes, expires_at, embedding)
      values ($1, $2, $3, $4, now() + $4 * interval '1 minute', $5)
      on conflict (namespace, key) do update set value = excluded.value, ttl_minutes = excluded.ttl_minutes,
        expires_at = excluded.expires_at, embedding = excluded.embedding, updated_at = now()`,
    values: [
      item.namespace,
      item.key,
      JSON.stringify(item.value),
      item.ttl,
      item.vectors && item.vectors.length > 0 ? item.vectors.flat() : null,
    ],
  });
}

/** The item; reading it puts its expiry off, unless asked not to. */
export async function getItem(db: Db, { namespace, key, refresh = true }: Place & { refresh?: boolean }): Promise<StoreItem | undefined> {
  const [item] = await db.query<StoreItem & { expires_at: string | null }>({
    name: 'store_get',
    text: `select ${COLUMNS}, expires_at from gx.store_item where namespace = $1 and key = $2 and ${ALIVE}`,
    values: [namespace, key],
  });
  if (item === undefined) return undefined;
  const { expires_at, ...found } = item;
  if (refresh && expires_at !== null) await refreshItems(db, [found]);
  return found;
}

async function refreshItems(db: Db, items: Place[]): Promise<void> {
  for (const { namespace, key } of items)
    await db.query({
      name: 'store_refresh',
      text: `update gx.store_item set expires_at = now() + ttl_minutes * interval '1 minute'
        where namespace = $1 and key = $2 and ttl_minutes is not null`,
      values: [namespace, key],
    });
}

export async function deleteItem(db: Db, { namespace, key }: Place): Promise<void> {
  await db.query({ name: 'store_delete', text: 'delete from gx.store_item where namespace = $1 and key = $2', values: [namespace, key] });
}

const OPERATORS: Record<string, string> = { $eq: '=', $ne: '<>', $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' };

/** One condition for each field of the filter: an exact value, or operators. */
function conditions(filter: Record<string, unknown>, values: unknown[]): string[] {
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  return Object.entries(filter).flatMap(([field, wanted]) => {
    const operators = typeof wanted === 'object' && wanted !== null && Object.keys(wanted).some((name) => Object.hasOwn(OPERATORS, name));
    if (!operators) return [`value @> ${parameter(JSON.stringify({ [field]: wanted }))}::jsonb`];
    return Object.entries(wanted).map(
      ([name, operand]) =>
        `value->${parameter(field)}::text ${Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : '='} ${parameter(JSON.stringify(operand))}::jsonb`,
    );
  });
}

export type FoundItem = StoreItem & { score: number | null };

/** Cosine of the nearest of an item's vectors, exactly: every item under the namespace is compared. */
const score = (near: string): string => `(select max(dot) from (
    select sum(v.x * q.x)::float8 as dot from unnest(embedding) with ordinality v (x, n)
    join unnest(${near}::real[]) with ordinality q (x, n) on q.n = (v.n - 1) % cardinality(${near}::real[]) + 1
    group by (v.n - 1) / cardinality(${near}::real[])) products)`;

/** Items under a namespace, newest first; with a vector, those that have an embedding, nearest first. */
export async function searchItems(db: Db, search: StoreSearch, near?: number[]): Promise<FoundItem[]> {
  const prefix = search.namespace_prefix ?? [];
  const values: unknown[] = [prefix, prefix.length, search.limit, search.offset];
  const filters = conditions(search.filter ?? {}, values);
  const scored = near === undefined ? 'null::float8' : score(`$${values.push(near)}`);
  const where = ['namespace[1:$2::int] = $1::text[]', ALIVE, ...filters, ...(near === undefined ? [] : ['embedding is not null'])];
  const items = await db.query<FoundItem>({
    text: `select ${COLUMNS}, ${scored} as score from gx.store_item where ${where.join(' and ')}
      order by score desc nulls last, updated_at desc, key limit $3 offset $4`,
    values,
  });
  if (search.refresh_ttl !== false) await refreshItems(db, items);
  return items;
}

export async function listNamespaces(db: Db, search: StoreNamespaces): Promise<string[][]> {
  const { prefix, suffix, max_depth, limit, offset } = search;
  const rows = await db.query<{ namespace: string[] }>({
    text: `select distinct case when $3::int is null then namespace else namespace[1:$3::int] end as namespace
      from gx.store_item
      where ${ALIVE} and namespace[1:cardinality($1::text[])] = $1::text[]
        and namespace[cardinality(namespace) - cardinality($2::text[]) + 1:] = $2::text[]
      order by 1 limit $4 offset $5`,
    values: [prefix ?? [], suffix ?? [], max_depth ?? null, limit, offset],
  });
  return rows.map((row) => row.namespace);
}

export async function deleteExpiredItems(db: Db): Promise<number> {
  const rows = await db.query({ text: 'delete from gx.store_item where expires_at < now() returning 1' });
  return rows.length;
}
