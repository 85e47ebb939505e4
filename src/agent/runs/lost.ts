import { deleteRunCheckpoints } from '../db/checkpoints.ts';
import { endLost, requeueLost, type Lost } from '../db/leases.ts';
import type { Db } from '../db/pool.ts';
import { deleteRuns } from '../db/runs.ts';
import type { Tickets } from '../queue/tickets.ts';

/** What becomes of a run whose worker is gone: back to the queue, or the end that was asked for, or an error after too many lives. */
export async function settleLost(tx: Db, run: Lost, { tickets, maxAttempts }: { tickets: Tickets; maxAttempts: number }): Promise<void> {
  if (run.cancel === 'rollback') {
    await deleteRunCheckpoints(tx, run.thread_id, run.run_id);
    await deleteRuns(tx, [run.run_id]);
  } else if (run.cancel === 'interrupt') {
    await endLost(tx, run.run_id, { status: 'interrupted', error: null });
  } else if (run.lost + 1 >= maxAttempts) {
    const message = `The run was given up after ${run.lost + 1} attempts: each time its worker died or lost the database (exceeded max attempts).`;
    await endLost(tx, run.run_id, { status: 'error', error: { error: 'WorkerLost', message } });
  } else {
    await requeueLost(tx, [run.run_id]);
    await tickets.send(tx, run, { again: true });
  }
}
