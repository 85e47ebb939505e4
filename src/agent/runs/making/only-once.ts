import { Problem } from '../../../errors.ts';
import type { Db } from '../../db/base/pool.ts';
import { loadMadeIds } from '../../db/base/idempotency-keys.ts';
import type { RequestKey } from '../../kernel/request-key.ts';

type Ways<T> = {
  /** Makes the thing asked for, and keeps the key with it. Throws where the key is kept already. */
  make: () => Promise<T>;
  /** Answers with the result of the same request before. */
  again: (made: string[]) => Promise<T>;
  /** Set where making would wait for the result of the same request. */
  looksFirst?: true;
};

/**
 * Makes something for a request, once for all requests with its key. The first pays for no look at the key: an earlier
 * result is looked for only where nothing can be made now, for whatever reason. Throws that reason if there is
 * none, and `Invalid` for a key that came with another request.
 */
export async function runOnlyOnce<T>(
  db: Db,
  key: RequestKey | undefined,
  { make, again, looksFirst }: Ways<T>,
): Promise<T> {
  if (key === undefined) return make();
  const known = looksFirst === true ? await loadMadeIds(db, key) : undefined;
  if (known !== undefined) return again(known);
  try {
    return await make();
  } catch (error) {
    if (error instanceof Problem && error.status >= 500) throw error;
    const made = await loadMadeIds(db, key);
    if (made === undefined) throw error;
    return again(made);
  }
}

/** Refuses a repetition of a request whose work is done and gone: nobody knows its result any more. */
export function refuseGone(what: string): never {
  throw new Problem(
    410,
    `${what} that the first request with this Idempotency-Key made is gone; another key makes a new one.`,
  );
}
