import type { Codec } from '../../encryption/codec.ts';
import { buildKeyMarks, type Marks } from '../../encryption/marks.ts';
import { buildKeyPlace } from './encryption-keys.ts';
import { toFieldText } from '../base/json-field.ts';
import type { Database, Db } from '../base/pool.ts';
import { SEALED_TABLES, type SealedTable } from './sealed-tables.ts';
import { UNFINISHED } from '../fields/thread-fields.ts';
import { isHeld } from '../runs/thread-holds.ts';

/*
 * Values of earlier keys are sealed again, table by table in the order in which the rows lie. A row is changed only if
 * it is still the one that was read, and only while its thread is at rest. A pass that finds nothing proves that
 * nothing is left; else another one follows.
 */

/** How far a pass has come. `found` counts the rows that it changed, or had to leave for the next. */
export type Pass = {
  key_id: string;
  place: number;
  after: string;
  found: number;
  rewritten: number;
};

/** Seconds without a sign of a server that encrypts with a key, after which no server does. */
const USED_WITHIN = 300;
/** Seconds for which a pass is a server's without a sign of it. */
export const LEASE_SECONDS = 120;

/** Seconds until the next pass after one that had to leave something. */
const NEXT_PASS = 60;

/** Rows that one step changes at most. Packs are large. */
const ROWS = 50;
const PACKS = 5;

export type OlderKeys = {
  ids: string[];
  /** Whether some server still encrypts with one of them. */ used: boolean;
};

/** Returns the keys beside the one that encrypts that have encrypted something here, and those that this server has. */
export async function loadOlderKeys(
  db: Db,
  keyId: string,
): Promise<{ all: OlderKeys; readable: OlderKeys }> {
  const rows = await db.query<{ key_id: string; sealed: unknown; used: boolean }>({
    text: `select key_id, sealed, used_at > now() - ${USED_WITHIN} * interval '1 second' as used from gx.encryption_key where key_id <> $1`,
    values: [keyId],
  });
  const readable: typeof rows = [];
  for (const row of rows)
    await db.codec.open(buildKeyPlace(row.key_id), row.sealed).then(
      () => readable.push(row),
      () => undefined,
    );
  const mergeKeys = (some: typeof rows): OlderKeys => ({
    ids: some.map(({ key_id }) => key_id).toSorted(),
    used: some.some(({ used }) => used),
  });
  return { all: mergeKeys(rows), readable: mergeKeys(readable) };
}

/** Takes the pass, or goes on with it. Returns undefined while another server has it, or it is not time yet. */
export async function takePass(
  db: Db,
  { keyId, older, worker }: { keyId: string; older: string[]; worker: string },
): Promise<Pass | undefined> {
  const [pass] = await db.query<Pass>({
    text: `insert into gx.reencryption as p (key_id, older, worker, lease_until) values ($1, $2, $3, now() + $4 * interval '1 second')
      on conflict (key_id) do update set worker = $3, lease_until = excluded.lease_until, older = $2,
        place = case when p.older = $2 then p.place else 0 end, after = case when p.older = $2 then p.after else '(0,0)' end,
        found = case when p.older = $2 then p.found else 0 end
      where (p.lease_until < now() or p.worker = $3) and p.not_before <= now()
      returning key_id, place, after, found, rewritten`,
    values: [keyId, older, worker, LEASE_SECONDS],
  });
  return pass;
}

/** Writes down how far the pass is. Returns false when another server has it meanwhile. */
async function keepPass(
  db: Db,
  { key_id, place, after, found, rewritten }: Pass,
  worker: string,
): Promise<boolean> {
  const rows = await db.query({
    text: `update gx.reencryption set place = $3, after = $4, found = $5, rewritten = $6, lease_until = now() + $7 * interval '1 second'
      where key_id = $1 and worker = $2 returning 1`,
    values: [key_id, worker, place, after, found, rewritten, LEASE_SECONDS],
  });
  return rows.length > 0;
}

/** Begins the next pass, after a rest where this one had to leave something. */
export async function endPass(
  db: Db,
  { key_id }: Pass,
  worker: string,
  rests: boolean,
): Promise<void> {
  await db.query({
    text: `update gx.reencryption set place = 0, after = '(0,0)', found = 0, lease_until = now(),
      not_before = now() + $3 * interval '1 second' where key_id = $1 and worker = $2`,
    values: [key_id, worker, rests ? NEXT_PASS : 0],
  });
}

/** Forgets keys of which nothing is left, unless a server has begun to encrypt with one of them. Returns which. */
export async function deleteUnusedKeys(db: Db, older: string[]): Promise<string[]> {
  const rows = await db.query<{ key_id: string }>({
    text: `delete from gx.encryption_key where key_id = any($1) and used_at < now() - ${USED_WITHIN} * interval '1 second' returning key_id`,
    values: [older],
  });
  return rows.map(({ key_id }) => key_id);
}

export type RewriteStep = {
  pass: Pass;
  /** Whether all tables have been seen. */ isOver: boolean;
  left: number;
  isLost: boolean;
};

/** Blocks of a table that one step looks at. */
const BLOCKS = 64;

/** `codec` seals the values of the keys `older` again, or has others for them. */
export type Rewriting = { codec: Codec; older: string[]; worker: string };

/** Looks at some rows, and seals their values of earlier keys again. */
export async function runRewriteStep(
  db: Database,
  pass: Pass,
  { codec, older, worker }: Rewriting,
): Promise<RewriteStep> {
  const table = SEALED_TABLES[pass.place];
  if (table === undefined) return { pass, isOver: true, left: 0, isLost: false };
  const { rows, after } = await loadOlderRows(db, table, pass.after, buildKeyMarks(older));
  const changes = (await Promise.all(rows.map((row) => buildChange(codec, table, row)))).filter(
    (change) => change !== undefined,
  );
  const rewritten = changes.length === 0 ? 0 : await write(db, table, changes);
  const next: Pass = {
    ...pass,
    ...(after === undefined ? { place: pass.place + 1, after: '(0,0)' } : { after }),
    found: pass.found + changes.length,
    rewritten: pass.rewritten + rewritten,
  };
  return {
    pass: next,
    isOver: false,
    left: changes.length - rewritten,
    isLost: !(await keepPass(db, next, worker)),
  };
}

type FoundRow = Record<string, unknown> & { row_at: string; row_version: string };

/** Returns rows that seem to hold something of earlier keys, and where to go on; undefined at the end of the table. */
async function loadOlderRows(
  db: Db,
  table: SealedTable,
  after: string,
  marks: Marks,
): Promise<{ rows: FoundRow[]; after: string | undefined }> {
  const names = [
    ...new Set([
      ...(table.thread === undefined ? [] : [table.thread]),
      ...(table.known ?? []),
      ...Object.keys(table.columns),
    ]),
  ];
  const conditions = Object.entries(table.columns).map(([name, { type }]) => {
    // A value in bytes or text is sealed as a whole, so that its beginning is enough.
    if (type === 'bytea')
      return `exists (select 1 from unnest($3::bytea[]) m where position(m in substring(t.${name} from 1 for 64)) > 0)`;
    return `${type === 'text' ? `left(t.${name}, 64)` : `t.${name}::text`} like any($4::text[])`;
  });
  const limit = table.name === 'checkpoint_packs' ? PACKS : ROWS;
  const block = Number(after.slice(1, after.indexOf(',')));
  const until = `(${block + BLOCKS},0)`;
  const [size] = await db.query<{ blocks: number }>({
    text: `select (pg_relation_size($1::regclass) / current_setting('block_size')::int)::int as blocks`,
    values: [`gx.${table.name}`],
  });
  const rows = await db.query<FoundRow>({
    text: `select t.ctid::text as row_at, t.xmin::text as row_version, ${names.map((name) => `t.${name}`).join(', ')} from gx.${table.name} t
      where t.ctid > $1::tid and t.ctid < $2::tid and (${conditions.join(' or ')} or false and $3::bytea[] is null and $4::text[] is null)
      order by t.ctid limit ${limit}`,
    values: [after, until, marks.bytes, marks.text],
  });
  if (rows.length === limit) return { rows, after: rows.at(-1)!.row_at };
  return { rows, after: block + BLOCKS >= size!.blocks ? undefined : until };
}

type Change = { row: FoundRow; columns: [name: string, value: unknown][] };

/**
 * Returns the columns of a row that are to change. A row that can't be read counts as such: it stays, and keeps its key
 * in use.
 */
async function buildChange(
  codec: Codec,
  table: SealedTable,
  row: FoundRow,
): Promise<Change | undefined> {
  const columns: Change['columns'] = [];
  for (const [name, { type, reseal }] of Object.entries(table.columns)) {
    const stored = row[name];
    if (stored === null) continue;
    const fresh = await reseal(codec, stored, row).catch(() => undefined);
    if (fresh === undefined) return { row, columns: [] };
    if (fresh !== stored)
      columns.push([
        name,
        type === 'jsonb' || type === 'json' ? toFieldText(JSON.stringify(fresh)) : fresh,
      ]);
  }
  return columns.length === 0 ? undefined : { row, columns };
}

/** Writes the changes of rows that are as they were read and whose threads rest. Returns how many. */
function write(db: Database, table: SealedTable, changes: Change[]): Promise<number> {
  return db.transaction(async (tx) => {
    const { thread } = table;
    const may =
      thread === undefined
        ? undefined
        : await lockIdleThreads(
            tx,
            changes.map(({ row }) => String(row[thread])),
          );
    let count = 0;
    for (const { row, columns } of changes) {
      if (columns.length === 0 || may?.(String(row[thread!])) === false) continue;
      const done = await tx.query({
        text: `update gx.${table.name} set ${columns.map(([name], at) => `${name} = $${at + 3}`).join(', ')}
          where ctid = $1::tid and xmin::text = $2 returning 1`,
        values: [row.row_at, row.row_version, ...columns.map(([, value]) => value)],
      });
      count += done.length;
    }
    return count;
  });
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Locks those of the threads that nobody works on. Returns which rows may be written: theirs, or those of none. */
async function lockIdleThreads(tx: Db, threads: string[]): Promise<(threadId: string) => boolean> {
  const ids = [...new Set(threads)].filter((one) => UUID.test(one)).toSorted();
  const there = await tx.query<{ thread_id: string }>({
    text: 'select thread_id from gx.thread where thread_id = any($1::uuid[])',
    values: [ids],
  });
  const free = await tx.query<{ thread_id: string }>({
    text: `select t.thread_id from gx.thread t where t.thread_id = any($1::uuid[]) and not ${UNFINISHED} and not ${isHeld('t')}
      order by t.thread_id for update of t skip locked`,
    values: [ids],
  });
  const exists = new Set(there.map(({ thread_id }) => thread_id));
  const rests = new Set(free.map(({ thread_id }) => thread_id));
  return (threadId) => rests.has(threadId) || !exists.has(threadId);
}
