import { Conflict } from '../../../errors.ts';
import { refuseReused, type RequestKey } from '../../kernel/request-key.ts';
import type { Db } from './pool.ts';

/*
 * This file knows the keys of requests that are carried out once. A key is written by the statement, or in the
 * transaction, that makes the request's records. So a request that makes none leaves no key.
 */

const KEPT_HOURS = 24;
export const KEY_SECONDS = KEPT_HOURS * 3600;

/** Refuses a request whose key came first with another one. A caller that looks it up finds the records of that one. */
export function refuseTaken(): never {
  throw new Conflict(
    'A request with this Idempotency-Key was carried out a moment ago; send it again.',
  );
}

/** Returns SQL that keeps keys, and yields a row for each that is new. Rivals wait until the first one is through. */
export const buildKeyInsertSql = (rows: string): string =>
  `insert into gx.idempotency_key (key, request, made) ${rows} on conflict (key) do nothing returning made`;

/** Keeps the key of the records that a transaction makes. Throws `Conflict` for one that is kept already. */
export async function keepRequestKey(
  tx: Db,
  { key, request }: RequestKey,
  made: string[],
): Promise<void> {
  const rows = await tx.query({
    name: 'idempotency_key_keep',
    text: buildKeyInsertSql('values ($1, $2, $3::uuid[])'),
    values: [key, request, made],
  });
  if (rows.length === 0) refuseTaken();
}

/**
 * Returns the ids that the request with this key made; undefined for an unknown key. Throws `Invalid` for another
 * request.
 */
export async function loadMadeIds(
  db: Db,
  { key, request }: RequestKey,
): Promise<string[] | undefined> {
  const [row] = await db.query<{ request: Buffer; made: string[] }>({
    name: 'idempotency_key_get',
    text: 'select request, made from gx.idempotency_key where key = $1',
    values: [key],
  });
  if (row === undefined) return undefined;
  return row.request.equals(request) ? row.made : refuseReused();
}

/** Forgets the key of a request that failed after all. */
export async function deleteRequestKey(db: Db, { key }: RequestKey): Promise<void> {
  await db.query({ text: 'delete from gx.idempotency_key where key = $1', values: [key] });
}

/** Deletes up to so many keys that are older than they are kept; returns how many there were. */
export async function deleteOldKeys(db: Db, limit: number): Promise<number> {
  const rows = await db.query({
    text: `delete from gx.idempotency_key where key = any(array(select key from gx.idempotency_key
      where created_at < now() - $2 * interval '1 hour' order by created_at limit $1)) returning 1`,
    values: [limit, KEPT_HOURS],
  });
  return rows.length;
}
