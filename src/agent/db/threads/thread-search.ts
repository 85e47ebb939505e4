import { THREAD_FIELDS, type Thread, type ThreadSearch } from '../../../schema/agent/thread.ts';
import { toField } from '../base/json-field.ts';
import { permitsSearch, type Patterns } from '../base/permits.ts';
import type { Db } from '../base/pool.ts';
import { OF_ONE_THREAD, openThreads, threadColumns, UNFINISHED } from '../fields/thread-fields.ts';
import { isPlainField, VALUES_TO_SEARCH } from '../fields/thread-values.ts';
import { refuseByNamed, refuseByValue } from '../base/unsearchable.ts';

type Filters = Pick<ThreadSearch, 'metadata' | 'values' | 'status' | 'ids'> & { seen?: Patterns };

/** The fields of a state that are neither objects nor lists, as index thread_values has them. */
const SCALARS = `jsonb_path_query_array(t."values", '$.keyvalue() ? (@.value.type() != "object" && @.value.type() != "array")', '{}', true)`;

/** Decides, in one place, which threads a search may see. */
function where({ metadata, values, status, ids, seen }: Filters, parameters: unknown[]): string {
  const parameter = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = ['not t.temporary', ...permitsSearch('t.metadata', seen, parameter)];
  if (metadata && Object.keys(metadata).length > 0) conditions.push(`t.metadata @> ${parameter(toField(metadata))}`);
  if (values && Object.keys(values).length > 0) {
    const indexed = Object.entries(values).filter(([, value]) => isPlainField(value));
    if (indexed.length > 0) conditions.push(`${SCALARS} @> ${parameter(toField(indexed.map(([key, value]) => ({ key, value }))))}`);
    const isPlain = indexed.length === Object.keys(values).length;
    conditions.push(`${isPlain ? 't."values"' : VALUES_TO_SEARCH} @> ${parameter(toField(values))}`);
  }
  if (status === 'busy') conditions.push(UNFINISHED);
  else if (status) conditions.push(`t.status = ${parameter(status)}`, `not ${UNFINISHED}`);
  if (ids) conditions.push(`t.thread_id = any(${parameter(ids)}::uuid[])`);
  return conditions.join(' and ');
}

async function refuseUnsearchable({ codec }: Db, { metadata, values }: Filters): Promise<void> {
  refuseByValue(codec, 'values', values);
  await refuseByNamed(codec, 'thread.metadata', metadata);
}

/** Returns one row more than asked for, where there is a next page. */
export async function searchThreads(db: Db, search: ThreadSearch & { seen?: Patterns }): Promise<Partial<Thread>[]> {
  await refuseUnsearchable(db, search);
  const parameters: unknown[] = [];
  const fields: readonly string[] =
    search.select && search.select.length > 0 && !search.extract ? [...new Set(search.select)] : THREAD_FIELDS;
  const hidesId = !fields.includes('thread_id') && fields.some((field) => OF_ONE_THREAD.includes(field));
  const read = hidesId ? [...fields, 'thread_id'] : fields;
  const text = search.sort_by === 'status' ? byStatus(search, read, parameters) : byColumn(search, read, parameters);
  const threads = await openThreads(db, await db.query<Partial<Thread>>({ text, values: parameters }));
  return hidesId ? threads.map(({ thread_id: _hidden, ...thread }) => thread) : threads;
}

function byColumn(search: ThreadSearch & { seen?: Patterns }, fields: readonly string[], parameters: unknown[]): string {
  const condition = where(search, parameters);
  const page = `limit $${parameters.push(search.limit + 1)} offset $${parameters.push(search.offset)}`;
  return `select ${threadColumns(fields)} from gx.thread t where ${condition}
    order by t.${search.sort_by ?? 'updated_at'} ${search.sort_order ?? 'desc'}, t.thread_id ${page}`;
}

/**
 * The statuses in the order of their names. An index can't sort by "busy", which is no column, so the pages of each
 * status are put together.
 */
const STATUSES = ['busy', 'error', 'idle', 'interrupted'] as const;

function byStatus(search: ThreadSearch & { seen?: Patterns }, fields: readonly string[], parameters: unknown[]): string {
  const [first, page] = [`$${parameters.push(search.limit + 1 + search.offset)}`, `$${parameters.push(search.limit + 1)}`];
  const wanted = STATUSES.filter((status) => search.status === undefined || search.status === null || search.status === status);
  const parts = (search.sort_order === 'asc' ? wanted : wanted.toReversed()).map(
    (status, rank) => `(select ${rank} as gx_rank, t.updated_at as gx_at, t.thread_id as gx_id, ${threadColumns(fields)} from gx.thread t
      where ${where({ ...search, status }, parameters)} order by t.updated_at desc, t.thread_id limit ${first})`,
  );
  return `select ${fields.map((name) => `"${name}"`).join(', ')} from (${parts.join(' union all ')}) t
    order by gx_rank, gx_at desc, gx_id limit ${page} offset $${parameters.push(search.offset)}`;
}

export async function countThreads(db: Db, filters: Filters): Promise<number> {
  await refuseUnsearchable(db, filters);
  const parameters: unknown[] = [];
  const [row] = await db.query<{ count: number }>({
    text: `select count(*) as count from gx.thread t where ${where(filters, parameters)}`,
    values: parameters,
  });
  return row?.count ?? 0;
}
