import type { EventTail } from '../../stream/tail.ts';
import type { Log } from '../../../log.ts';
import { RUN_DONE, runDone } from '../../../schema/agent/stream-event.ts';
import { deleteRunCheckpoints } from '../../db/threads/checkpoint-upkeep.ts';
import { appendLast } from '../../db/events/events.ts';
import { loadLostCall, endLost, enqueueLostRun, type Lost } from '../../db/runs/leases.ts';
import type { Db } from '../../db/base/pool.ts';
import { readSealContext } from '../../encryption/codec.ts';
import { runUnderContext, type EncryptionContext } from '../../kernel/encryption-context.ts';
import { runFields, type TracedCall } from '../../kernel/run-fields.ts';
import { deleteRuns } from '../../db/runs/runs.ts';
import type { Tickets } from '../../queue/tickets.ts';
import { buildRootLifecycle } from '../../stream/protocol/root-lifecycle.ts';
import { adoptEvents } from '../../stream/tail.ts';
import type { GraphHost } from '../../graphs/host.ts';
import type { Readers } from '../reading/readers.ts';
import { refreshThread } from '../reading/refresh.ts';

type Settling = {
  tickets: Tickets;
  maxAttempts: number;
  eventLog: { lifeSeconds: number; tail: EventTail | undefined };
};

/** A lost run, and whether it has ended; otherwise it is back in the queue. `context`: the one of its values. */
export type SettledRun = Lost & { ended: boolean; context: EncryptionContext | undefined };

/**
 * Decides and writes the fate of a run whose worker is gone. It goes back to the queue, comes to the end that was
 * asked for, or fails after too many lives. A life counts once the run has begun: a worker that had only claimed it did
 * not die of it.
 */
export async function settleLost(tx: Db, run: Lost, settling: Settling): Promise<SettledRun> {
  const context = readSealContext(run.kwargs);
  return {
    ...run,
    context,
    ended: await runUnderContext(context, () => settle(tx, run, settling)),
  };
}

/** Does so. Returns false for a run that goes back to the queue. */
async function settle(
  tx: Db,
  run: Lost,
  { tickets, maxAttempts, eventLog }: Settling,
): Promise<boolean> {
  const lives = run.begun ? run.lost + 1 : run.lost;
  const lifecycle = run.protocol
    ? [buildRootLifecycle(run.cancel === null ? 'failed' : 'interrupted', run)]
    : [];
  const { lifeSeconds, tail } = eventLog;
  const appendLastEvents = async (...events: [event: string, json: string][]): Promise<void> => {
    await adoptEvents({ db: tx, tail }, run, lifeSeconds);
    await appendLast(
      tx,
      run,
      [...events, ...lifecycle, [RUN_DONE, runDone(run.run_id)]],
      lifeSeconds,
    );
  };
  if (run.cancel === 'rollback') {
    await deleteRunCheckpoints(tx, run.thread_id, run.run_id);
    await deleteRuns(tx, [run.run_id], { tells: true });
    await appendLastEvents();
  } else if (run.cancel === 'interrupt') {
    await endLost(tx, run, { status: 'interrupted', error: null });
    await appendLastEvents();
  } else if (run.begun && lives >= maxAttempts) {
    const message = `The run failed after ${lives} attempts: each time its worker died or lost the database (exceeded max attempts).`;
    const error = { error: 'WorkerLost', message };
    await endLost(tx, run, { status: 'error', error });
    await appendLastEvents(['error', JSON.stringify(error)]);
  } else {
    await enqueueLostRun(tx, run.run_id, lives);
    await tickets.send(tx, run, { continued: true });
    return false;
  }
  return true;
}

export type TellLostDeps = {
  db: Db;
  readers: Readers;
  host: GraphHost;
  log: Log;
};

/** Logs that the runs were lost, and why. Their calls may have to be decrypted for it, so nobody waits. */
export function logLost({ db, log }: TellLostDeps, runs: SettledRun[], why: string): void {
  for (const run of runs) {
    const { run_id, thread_id, lost, begun, context } = run;
    const write = (kwargs?: TracedCall): void =>
      log.warn({ ...runFields({ run_id, thread_id, kwargs }), lost: begun ? lost + 1 : lost }, why);
    void runUnderContext(context, () => loadLostCall(db, run)).then(write);
  }
}

/**
 * Tells readers of the runs and of their threads, once the outcome is committed, and has the state of the threads read
 * again.
 */
export async function notifyLost(deps: TellLostDeps, runs: SettledRun[]): Promise<void> {
  for (const run of runs) {
    const { run_id, readers, thread_readers, ended } = run;
    await deps.readers.wake(run, [...new Set([...readers, ...thread_readers])]);
    if (ended) await deps.readers.end(run_id, readers);
    const refresh = async (): Promise<void> =>
      refreshThread(deps, { ...run, kwargs: await loadLostCall(deps.db, run) });
    // This is not awaited: a graph thread that is stuck must not keep other lost runs from being taken up.
    if (ended && !run.temporary && run.cancel !== 'rollback')
      void runUnderContext(run.context, refresh);
  }
}
