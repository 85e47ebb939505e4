import type { Log } from '../../../../log.ts';
import { deleteRunCheckpoints } from '../../../db/threads/checkpoint-upkeep.ts';
import type { Claimed } from '../../../db/runs/leases.ts';
import type { Db } from '../../../db/base/pool.ts';
import { deleteRuns } from '../../../db/runs/runs.ts';
import { buildRootLifecycle } from '../../../stream/protocol/root-lifecycle.ts';
import type { Publisher, PublishedRun } from '../../../stream/publisher.ts';
import type { Readers } from '../../reading/readers.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { runFields } from '../../../kernel/run-fields.ts';

type Deps = {
  db: Db;
  publisher: Publisher;
  readers: Readers;
  webhooks: Webhooks;
  log: Log;
};

/** Undoes a run: deletes it with its checkpoints, and tells its readers that it is over. */
export async function rollBack(
  { db, publisher, readers, webhooks, log }: Deps,
  published: PublishedRun & { run: Claimed },
): Promise<{ more: boolean }> {
  const { run_id, thread_id } = published.run;
  await deleteRunCheckpoints(db, thread_id, run_id);
  if (published.run.kwargs.protocol === true) {
    publisher.publish(published, [buildRootLifecycle('interrupted', published.run)]);
    // The thread's next run may begin with the deletion, and goes on counting from here.
    await publisher.waitUntilStored(published);
  }
  const [deleted] = await deleteRuns(db, [run_id], { tells: true });
  const last = published.logged;
  publisher.publishDone(published);
  if (deleted?.told === true) webhooks.wake();
  await readers.end(run_id, deleted?.readers ?? [...published.readers], { last });
  log.info(runFields(published.run), 'run rolled back');
  return { more: true };
}
