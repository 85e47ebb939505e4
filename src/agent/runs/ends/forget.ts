import type { Log } from '../../../log.ts';
import { deleteCheckpoints, deleteRunCheckpoints } from '../../db/threads/checkpoint-upkeep.ts';
import type { Db } from '../../db/base/pool.ts';
import { isThere } from '../../db/runs/runs.ts';

type Ids = { run_id: string; thread_id: string };

/** Leaves alone a run that is no longer this process's, because another worker has it or it was deleted. */
export async function forget({ db, log }: { db: Db; log: Log }, run: Ids): Promise<{ more: boolean }> {
  log.info({ run_id: run.run_id, thread_id: run.thread_id }, 'run is no longer here');
  await dropIfDeleted(db, run);
  return { more: false };
}

/** Deletes the rows that the graph of a deleted run, or thread, wrote after the deletion. */
export async function dropIfDeleted(db: Db, { run_id, thread_id }: Ids): Promise<void> {
  const is = await isThere(db, { run_id, thread_id });
  if (!is.thread) await deleteCheckpoints(db, [thread_id]);
  else if (!is.run) await deleteRunCheckpoints(db, thread_id, run_id);
}
