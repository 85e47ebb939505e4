import type { Patterns } from '../base/permits.ts';
import type { Database, Db } from '../base/pool.ts';
import { lockActive } from './runs.ts';

/*
 * While a thread is held, no run of it begins. A hold is a moment in the thread's row, not a lock: it takes no
 * connection, and one whose process died ends by itself.
 */

/** The condition that a thread is held, as SQL; the name is that of its row. */
export const isHeld = (thread: string): string =>
  `coalesce(${thread}.held_until > clock_timestamp(), false)`;

export type Hold = { holder: string; seconds: number };

/** The outcome of an attempt to hold a thread: `busy` when it has runs, `taken` when somebody else holds it. */
export type Holding = 'held' | 'taken' | 'busy' | 'gone';

/** Holds a thread that has no unfinished run. It is gone for a caller that may not change it. */
export function holdThread(
  db: Database,
  threadId: string,
  { holder, seconds, changeable }: Hold & { changeable: Patterns },
): Promise<Holding> {
  return db.transaction(async (tx) => {
    const active = await lockActive(tx, threadId, changeable);
    if (active === undefined) return 'gone';
    if (active.length > 0) return 'busy';
    const held = await tx.query({
      name: 'thread_hold',
      text: `update gx.thread t set held_until = clock_timestamp() + $3 * interval '1 second', holder = $2
        where thread_id = $1 and not ${isHeld('t')} returning 1`,
      values: [threadId, holder, seconds],
    });
    return held.length > 0 ? 'held' : 'taken';
  });
}

/** Holds the thread for so many seconds from now on, if it is still the holder's. */
export async function holdOn(db: Db, threadId: string, { holder, seconds }: Hold): Promise<void> {
  await db.query({
    name: 'thread_hold_on',
    text: `update gx.thread set held_until = clock_timestamp() + $3 * interval '1 second' where thread_id = $1 and holder = $2`,
    values: [threadId, holder, seconds],
  });
}

/** Lets go of a thread that nothing was written to. */
export async function releaseThread(db: Db, threadId: string, holder: string): Promise<void> {
  await db.query({
    name: 'thread_let_go',
    text: 'update gx.thread set held_until = null, holder = null where thread_id = $1 and holder = $2',
    values: [threadId, holder],
  });
}

/** Returns the first run that waits for the thread, and whose time has come. */
export async function loadWaitingRun(
  db: Db,
  threadId: string,
): Promise<{ run_id: string; revision: string | null } | undefined> {
  const [run] = await db.query<{ run_id: string; revision: string | null }>({
    name: 'run_waiting',
    text: `select run_id, revision from gx.run where thread_id = $1 and status = 'pending' and due_at <= now() order by due_at, run_id limit 1`,
    values: [threadId],
  });
  return run;
}

export async function isThreadHeld(db: Db, threadId: string): Promise<boolean> {
  const rows = await db.query({
    text: `select 1 from gx.thread t where thread_id = $1 and ${isHeld('t')}`,
    values: [threadId],
  });
  return rows.length > 0;
}
