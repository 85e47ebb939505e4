import type { Log } from '../../../../log.ts';
import { deleteCheckpoints, deleteRunCheckpoints } from '../../../db/threads/checkpoint-upkeep.ts';
import type { Claimed } from '../../../db/runs/leases.ts';
import type { Db } from '../../../db/base/pool.ts';
import { isThere } from '../../../db/runs/runs.ts';
import { runFields } from '../../../kernel/run-fields.ts';

/** Leaves alone a run that is no longer this process's, because another worker has it or it was deleted. */
export async function leaveRun(
  { db, log }: { db: Db; log: Log },
  run: Claimed,
): Promise<{ more: boolean }> {
  log.info(runFields(run), 'run is no longer here');
  await dropIfDeleted(db, run);
  return { more: false };
}

/** Deletes the rows that the graph of a deleted run, or thread, wrote after the deletion. */
export async function dropIfDeleted(
  db: Db,
  { run_id, thread_id }: { run_id: string; thread_id: string },
): Promise<void> {
  const is = await isThere(db, { run_id, thread_id });
  if (!is.thread) await deleteCheckpoints(db, [thread_id]);
  else if (!is.run) await deleteRunCheckpoints(db, thread_id, run_id);
}
