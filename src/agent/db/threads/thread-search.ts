import { THREAD_FIELDS, type Thread, type ThreadSearch } from '../../../schema/agent/thread.ts';
import { toField } from '../base/json-field.ts';
import { buildSearchPermitSql, type Patterns } from '../base/permits.ts';
import type { Db } from '../base/pool.ts';
import {
  OF_ONE_THREAD,
  openThreads,
  buildThreadColumns,
  UNFINISHED,
} from '../fields/thread-fields.ts';
import { isPlainField, VALUES_TO_SEARCH } from '../fields/thread-values.ts';
import { refuseByNamed, refuseByValue } from '../base/unsearchable.ts';
import { Invalid } from '../../../errors.ts';
import { isUuid } from '../../kernel/ids.ts';

type Filters = Pick<ThreadSearch, 'metadata' | 'values' | 'status' | 'ids'> & { seen?: Patterns };

/** The fields of a state that are neither objects nor lists, as index thread_values has them. */
const SCALARS = `jsonb_path_query_array(t."values", '$.keyvalue() ? (@.value.type() != "object" && @.value.type() != "array")', '{}', true)`;

/** Decides, in one place, which threads a search may see. */
function buildWhere(
  { metadata, values, status, ids, seen }: Filters,
  parameters: unknown[],
): string {
  const addParameter = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = ['not t.temporary', ...buildSearchPermitSql('t.metadata', seen, addParameter)];
  if (metadata && Object.keys(metadata).length > 0)
    conditions.push(`t.metadata @> ${addParameter(toField(metadata))}`);
  if (values && Object.keys(values).length > 0) {
    const indexed = Object.entries(values).filter(([, value]) => isPlainField(value));
    if (indexed.length > 0)
      conditions.push(
        `${SCALARS} @> ${addParameter(toField(indexed.map(([key, value]) => ({ key, value }))))}`,
      );
    const isPlain = indexed.length === Object.keys(values).length;
    conditions.push(
      `${isPlain ? 't."values"' : VALUES_TO_SEARCH} @> ${addParameter(toField(values))}`,
    );
  }
  if (status === 'busy') conditions.push(UNFINISHED);
  else if (status) conditions.push(`t.status = ${addParameter(status)}`, `not ${UNFINISHED}`);
  if (ids) conditions.push(`t.thread_id = any(${addParameter(ids)}::uuid[])`);
  return conditions.join(' and ');
}

async function refuseUnsearchable({ codec }: Db, { metadata, values }: Filters): Promise<void> {
  refuseByValue(codec, 'values', values);
  await refuseByNamed(codec, 'thread.metadata', metadata);
}

/** Rows of a search, one more than asked for where there is a next page. `cursor` is where that one begins. */
export type FoundThreads = { rows: Partial<Thread>[]; cursor: string | undefined };

type PermittedSearch = ThreadSearch & { seen?: Patterns; behind?: ThreadCursor };
/** Searches threads. Throws `Invalid` for a cursor of another search. */
export async function searchThreads(
  db: Db,
  asked: ThreadSearch & { seen?: Patterns },
): Promise<FoundThreads> {
  await refuseUnsearchable(db, asked);
  const search = {
    ...asked,
    ...(typeof asked.cursor === 'string' && { behind: decodeThreadCursor(asked.cursor, asked) }),
  };
  const parameters: unknown[] = [];
  const fields: readonly string[] =
    search.select && search.select.length > 0 && !search.extract
      ? [...new Set(search.select)]
      : THREAD_FIELDS;
  const hidesId =
    !fields.includes('thread_id') && fields.some((field) => OF_ONE_THREAD.includes(field));
  const read = hidesId ? [...fields, 'thread_id'] : fields;
  const { column } = readThreadOrder(search);
  const text =
    column === undefined
      ? buildStatusSearch(search, read, parameters)
      : buildColumnSearch(search, read, column, parameters);
  const found = await db.query<Partial<Thread> & { gx_at?: string; gx_id?: string }>({
    text,
    values: parameters,
  });
  const last = found.length > search.limit ? found[search.limit - 1] : undefined;
  const cursor =
    last?.gx_at === undefined
      ? undefined
      : encodeThreadCursor(search, { value: last.gx_at, thread_id: last.gx_id! });
  const threads = await openThreads(
    db,
    found.map(({ gx_at: _at, gx_id: _id, ...thread }) => thread),
  );
  return {
    rows: hidesId ? threads.map(({ thread_id: _hidden, ...thread }) => thread) : threads,
    cursor,
  };
}

const buildMicrosecondsSql = (column: string): string =>
  `(extract(epoch from t.${column}) * 1000000)::bigint::text`;
const PLACES: Record<SortedColumn, string> = {
  thread_id: 't.thread_id::text',
  created_at: buildMicrosecondsSql('created_at'),
  updated_at: buildMicrosecondsSql('updated_at'),
  state_updated_at: buildMicrosecondsSql('state_updated_at'),
};

function buildColumnSearch(
  search: PermittedSearch,
  read: readonly string[],
  column: SortedColumn,
  parameters: unknown[],
): string {
  const { order } = readThreadOrder(search);
  const conditions = [
    buildWhere(search, parameters),
    ...buildCursorConditions(search, column, parameters),
  ];
  const page = `limit $${parameters.push(search.limit + 1)} offset $${parameters.push(search.offset)}`;
  return `select ${PLACES[column]} as gx_at, t.thread_id::text as gx_id, ${buildThreadColumns(read)} from gx.thread t
    where ${conditions.join(' and ')} order by t.${column} ${order}, t.thread_id ${page}`;
}

/** Returns the condition that a thread comes behind the cursor. Its first part is one that an index serves. */
function buildCursorConditions(
  { behind, ...sorted }: PermittedSearch,
  column: SortedColumn,
  parameters: unknown[],
): string[] {
  if (behind === undefined) return [];
  const beyond = readThreadOrder(sorted).order === 'asc' ? '>' : '<';
  const id = `$${parameters.push(behind.thread_id)}`;
  if (column === 'thread_id') return [`t.thread_id ${beyond} ${id}`];
  const at = `('epoch'::timestamptz + $${parameters.push(behind.value)}::bigint * interval '1 microsecond')`;
  return [`t.${column} ${beyond}= ${at}`, `(t.${column} ${beyond} ${at} or t.thread_id > ${id})`];
}

/**
 * The statuses in the order of their names. An index can't sort by "busy", which is no column, so the pages of each
 * status are put together.
 */
const STATUSES = ['busy', 'error', 'idle', 'interrupted'] as const;

function buildStatusSearch(
  search: PermittedSearch,
  fields: readonly string[],
  parameters: unknown[],
): string {
  const [first, page] = [
    `$${parameters.push(search.limit + 1 + search.offset)}`,
    `$${parameters.push(search.limit + 1)}`,
  ];
  const wanted = STATUSES.filter(
    (status) => search.status === undefined || search.status === null || search.status === status,
  );
  const parts = (search.sort_order === 'asc' ? wanted : wanted.toReversed()).map(
    (
      status,
      rank,
    ) => `(select ${rank} as gx_rank, t.updated_at as gx_at, t.thread_id as gx_id, ${buildThreadColumns(fields)} from gx.thread t
      where ${buildWhere({ ...search, status }, parameters)} order by t.updated_at desc, t.thread_id limit ${first})`,
  );
  return `select ${fields.map((name) => `"${name}"`).join(', ')} from (${parts.join(' union all ')}) t
    order by gx_rank, gx_at desc, gx_id limit ${page} offset $${parameters.push(search.offset)}`;
}

export async function countThreads(db: Db, filters: Filters): Promise<number> {
  await refuseUnsearchable(db, filters);
  const parameters: unknown[] = [];
  const [row] = await db.query<{ count: number }>({
    text: `select count(*) as count from gx.thread t where ${buildWhere(filters, parameters)}`,
    values: parameters,
  });
  return row?.count ?? 0;
}

/** A column by which threads are sorted. A status is none, because "busy" is no column. */
const COLUMNS = ['thread_id', 'created_at', 'updated_at', 'state_updated_at'] as const;
type SortedColumn = (typeof COLUMNS)[number];

/** Where a page begins: behind the thread with this value of the sorted column, and this id. */
type ThreadCursor = { value: string; thread_id: string };

/** Microseconds since 1970, as a time of the database has them. */
const TIME = /^\d{1,16}$/;

/** Returns how threads are sorted; a column of undefined stands for their statuses. */
function readThreadOrder({ sort_by: by, sort_order: order }: ThreadSearch): {
  column: SortedColumn | undefined;
  order: 'asc' | 'desc';
} {
  return { column: by === 'status' ? undefined : (by ?? 'updated_at'), order: order ?? 'desc' };
}

/** Returns the text that a client sends to get the next page of the same search. */
function encodeThreadCursor(sorted: ThreadSearch, { value, thread_id }: ThreadCursor): string {
  const { column, order } = readThreadOrder(sorted);
  return Buffer.from([column, order, value, thread_id].join('|')).toString('base64url');
}

/** Returns the place that a text names. Throws `Invalid` for one that no page of a search sorted like this has had. */
function decodeThreadCursor(text: string, sorted: ThreadSearch): ThreadCursor {
  const { column, order } = readThreadOrder(sorted);
  const parts = Buffer.from(text, 'base64url').toString().split('|');
  const [by, direction, value = '', thread_id = ''] = parts;
  if (column === undefined)
    throw buildInvalidCursor('a search by status has no cursor; use offset');
  const isWhole = column === 'thread_id' ? value === thread_id : TIME.test(value);
  if (parts.length !== 4 || !isUuid(thread_id) || !isWhole)
    throw buildInvalidCursor('is none of this server');
  if (by !== column || direction !== order)
    throw buildInvalidCursor(`is one of a search by ${by} ${direction}, not by ${column} ${order}`);
  return { value, thread_id };
}

const buildInvalidCursor = (msg: string): Invalid =>
  new Invalid([{ loc: ['body', 'cursor'], msg, type: 'value_error' }]);
