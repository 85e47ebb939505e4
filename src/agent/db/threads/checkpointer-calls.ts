import { Conflict } from '../../../errors.ts';
import { isUuid } from '../../kernel/ids.ts';
import type { Database, Db } from '../base/pool.ts';
import { storeStateWhole } from '../fields/thread-values.ts';
import { lockActive } from '../runs/runs.ts';
import { isThreadHeld } from '../runs/thread-holds.ts';
import { pruneCheckpoints } from './checkpoint-pruning.ts';
import { copyCheckpoints, deleteCheckpoints, deleteRunCheckpoints } from './checkpoint-upkeep.ts';

/*
 * Graphs ask their checkpointer to delete runs, and to copy and prune threads. That concerns checkpoints alone: the
 * records of runs and threads stay as they are, and a thread need not have one. A thread whose checkpoints may be
 * written meanwhile is refused.
 */

/** Holds the thread until the transaction ends. Returns whether it has a record. */
async function holdIdle(tx: Db, threadId: string): Promise<boolean> {
  // The checkpoints of a graph may stand under any text; a record's id is a UUID.
  const active = isUuid(threadId) ? await lockActive(tx, threadId) : undefined;
  if (active === undefined) return false;
  if (active.length > 0 || (await isThreadHeld(tx, threadId)))
    throw new Conflict(
      `Thread ${threadId} has a run under way, so its checkpoints can't be deleted, pruned or replaced.`,
    );
  return true;
}

/** Returns the threads, in one order for all callers, in which the runs have left something. */
async function loadThreadIds(tx: Db, runIds: string[]): Promise<string[]> {
  const rows = await tx.query<{ thread_id: string }>({
    text: `select thread_id from gx.checkpoints where metadata->>'run_id' = any($1)
      union select thread_id from gx.checkpoint_packs where run_ids && $1
      union select thread_id from gx.checkpoint_writes where run_id = any($1) order by 1`,
    values: [runIds],
  });
  return rows.map(({ thread_id }) => thread_id);
}

/** Removes all that the runs left, in whatever thread. */
export async function deleteCheckpointsOfRuns(db: Database, runIds: string[]): Promise<void> {
  // The search reads all checkpoints, because a run may have written to several threads.
  if (runIds.length === 0) return;
  await db.transaction(async (tx) => {
    for (const threadId of await loadThreadIds(tx, runIds)) {
      await holdIdle(tx, threadId);
      for (const runId of runIds) await deleteRunCheckpoints(tx, threadId, runId);
    }
  });
}

/** Copies the checkpoints of one thread to another, which has none. */
export function copyCheckpointsTo(db: Database, from: string, to: string): Promise<void> {
  return db.transaction(async (tx) => {
    await holdIdle(tx, to);
    const taken = await tx.query({
      text: `select 1 from gx.checkpoints where thread_id = $1 union all select 1 from gx.checkpoint_packs where thread_id = $1 limit 1`,
      values: [to],
    });
    if (taken.length > 0)
      throw new Conflict(
        `Thread ${to} has checkpoints, so those of another thread can't be copied to it.`,
      );
    await copyCheckpoints(tx, from, to);
  });
}

/** Removes the older checkpoints of the threads, or all of them. */
export function pruneThreads(
  db: Database,
  threadIds: string[],
  strategy: 'keep_latest' | 'delete',
): Promise<void> {
  return db.transaction(async (tx) => {
    for (const threadId of threadIds.toSorted()) {
      const isRecord = await holdIdle(tx, threadId);
      if (strategy === 'delete') await deleteCheckpoints(tx, [threadId]);
      else {
        await pruneCheckpoints(tx, threadId);
        if (isRecord) await storeStateWhole(tx, threadId);
      }
    }
  });
}
