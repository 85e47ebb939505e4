import type { JobSettings } from '../../../../config/agent/agent.ts';
import type { Log } from '../../../../log.ts';
import { lockCrashedRun, giveBack, type Claimed } from '../../../db/runs/leases.ts';
import type { Database } from '../../../db/base/pool.ts';
import type { Signals } from '../../../db/base/signals.ts';
import type { Tickets } from '../../../queue/tickets.ts';
import type { StreamLog } from '../../../stream/log.ts';
import type { End } from '../end.ts';
import { settleLost, notifyLost, type TellLostDeps } from '../lost.ts';
import { runFields } from '../../../kernel/run-fields.ts';

type Deps = TellLostDeps & {
  db: Database;
  signals: Signals;
  tickets: Tickets;
  jobs: JobSettings;
  eventLog: StreamLog;
  log: Log;
};

/** Gives a run back to the queue: it continues elsewhere at once, before any new run begins. */
export async function returnToQueue(
  deps: Deps,
  run: Claimed,
  { alone, losesLife }: Extract<End, { kind: 'hand-back' }>,
): Promise<{ more: boolean }> {
  const { db, signals, tickets, eventLog, log } = deps;
  // The next attempt goes on behind the events of this one, which stores nothing once it has given the run back.
  await eventLog.waitUntilStored(run.thread_id);
  if (losesLife) await countLostLife(deps, run.run_id);
  else {
    await giveBack(db, run.run_id, { worker: signals.processId, alone });
    await tickets.send(db, run, { continued: true });
    await signals.send({ about: 'ticket' });
  }
  log.info(runFields(run), 'run handed back');
  return { more: true };
}

/**
 * Counts the attempt against the run, as if its worker were lost, so that a run that fails each time comes to an end.
 */
async function countLostLife(deps: Deps, runId: string): Promise<void> {
  const { db, signals, tickets, jobs, eventLog } = deps;
  const settled = await db.transaction(async (tx) => {
    const [lost] = await lockCrashedRun(tx, runId, signals.processId);
    return lost && settleLost(tx, lost, { tickets, maxAttempts: jobs.maxAttempts, eventLog });
  });
  if (settled === undefined) return;
  await notifyLost(deps, [settled]);
  if (settled.ended && settled.told) await signals.send({ about: 'webhook' });
}
