import type { ThreadExpiry, ThreadTtl } from '../../../schema/agent/expiry.ts';
import { keepLatestCheckpoints } from './checkpoint-pruning.ts';
import type { Database, Db } from '../base/pool.ts';
import { UNFINISHED } from '../fields/thread-fields.ts';
import { isHeld } from '../runs/thread-holds.ts';
import { deleteThreadRows } from './threads.ts';

/* This file removes threads, or their older checkpoints, when they have not changed for as long as they are to live. */

const RESTED = 'greatest(t.updated_at, t.state_updated_at, t.pruned_at)';
/** When a thread of a life of its own expires, as index thread_expiry has it. */
const EXPIRES = `((${RESTED} at time zone 'UTC') + (t.ttl->>'ttl')::float8 * interval '1 minute')`;

/** Returns how long a thread lives, and until when; null when it does not expire. `usual` is for those of no own. */
export async function loadThreadTtl(
  db: Db,
  threadId: string,
  usual: ThreadTtl | undefined,
): Promise<ThreadExpiry | null> {
  const [row] = await db.query<ThreadExpiry>({
    text: `select l->>'strategy' as strategy, (l->>'ttl')::float8 as ttl_minutes, ${RESTED} + (l->>'ttl')::float8 * interval '1 minute' as expires_at
      from gx.thread t, lateral (select coalesce(t.ttl, $2::jsonb) as l) l where t.thread_id = $1 and l is not null`,
    values: [threadId, usual === undefined ? null : JSON.stringify(usual)],
  });
  return row ?? null;
}

/**
 * The threads that expire: by their own life, or by the usual one. Of those that wait for a person, only if `waiting`
 * says so. `limit` bounds one transaction.
 */
export type Expiring = { usual: ThreadTtl | undefined; waiting: boolean; limit: number };

/**
 * The condition that a thread may be touched: nobody works on it, and no cron will. Threads of runs alone go by
 * themselves.
 */
const AT_REST = `not t.temporary and ($1 or t.status <> 'interrupted') and not ${UNFINISHED} and not ${isHeld('t')}
  and not exists (select 1 from gx.cron c where c.thread_id = t.thread_id and c.enabled)`;

/**
 * Returns the statements that find threads that are due for the strategy, the first ones first. `$2` is for their
 * limit.
 */
function buildDueStatements(
  strategy: ThreadTtl['strategy'],
  { usual, waiting, limit }: Expiring,
): { find: string; values: unknown[] }[] {
  const own = {
    find: `select t.thread_id from gx.thread t where t.ttl is not null and t.ttl->>'strategy' = '${strategy}'
      and ${EXPIRES} < now() at time zone 'UTC' and ${AT_REST} order by ${EXPIRES}`,
    values: [waiting, limit],
  };
  if (usual?.strategy !== strategy) return [own];
  const changed =
    strategy === 'keep_latest'
      ? 'and (t.pruned_at is null or t.pruned_at < greatest(t.updated_at, t.state_updated_at))'
      : '';
  const byDefault = {
    find: `select t.thread_id from gx.thread t where t.ttl is null and t.updated_at < now() - $3 * interval '1 minute'
      and ${RESTED} < now() - $3 * interval '1 minute' ${changed} and ${AT_REST} order by t.updated_at`,
    values: [waiting, limit, usual.ttl],
  };
  return [own, byDefault];
}

/** Deletes some threads that are due, with all that belongs to them, in one transaction. Returns how many. */
export function deleteExpiredThreads(db: Database, expiring: Expiring): Promise<number> {
  return db.transaction(async (tx) => {
    let count = 0;
    for (const { find, values } of buildDueStatements('delete', expiring)) {
      const rows = await tx.query<{ thread_id: string }>({
        text: `${find} limit $2 for update of t skip locked`,
        values: values.with(1, expiring.limit - count),
      });
      if (rows.length > 0)
        await deleteThreadRows(
          tx,
          rows.map(({ thread_id }) => thread_id),
        );
      count += rows.length;
    }
    return count;
  });
}

/** Removes older checkpoints of some threads that are due, each in a transaction. Returns how many threads. */
export async function pruneExpiredThreads(db: Database, expiring: Expiring): Promise<number> {
  let count = 0;
  for (const { find, values } of buildDueStatements('keep_latest', expiring))
    for (const { thread_id } of await db.query<{ thread_id: string }>({
      text: `${find} limit $2`,
      values,
    })) {
      // One that has become busy is due again later.
      if (!(await keepLatestCheckpoints(db, thread_id))) continue;
      await db.query({
        text: 'update gx.thread set pruned_at = now() where thread_id = $1',
        values: [thread_id],
      });
      count += 1;
    }
  return count;
}
