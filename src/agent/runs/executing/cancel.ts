import type { Database, Db } from '../../db/base/pool.ts';
import { askToStop, deleteRuns, endPendingRuns, type ActiveRun } from '../../db/runs/runs.ts';
import type { Signals } from '../../db/base/signals.ts';
import type { Executor } from './executor.ts';
import type { Readers } from '../reading/readers.ts';

export type StopAction = 'interrupt' | 'rollback';

/** The actions that clients may ask for; some say `cancel` for `interrupt`. */
export type CancelAction = StopAction | 'cancel';

export const toStopAction = (action: CancelAction = 'interrupt'): StopAction =>
  action === 'cancel' ? 'interrupt' : action;

/** Runs that were stopped, and whom to tell once the change is committed. */
export type StoppedRuns = {
  /** `told`: a webhook is to hear of it. */
  ended: { run_id: string; readers: string[]; told: boolean }[];
  stopping: { run_id: string; worker: string }[];
  action: StopAction;
};

export type TellStoppedDeps = {
  readers: Readers;
  executor: Executor;
  signals: Signals;
};

export type CancelDeps = TellStoppedDeps & { db: Database };

/**
 * Ends (or deletes) waiting runs at once, and marks running ones. Their worker stops those, or else the next worker to
 * take them up.
 */
export async function stopRuns(
  tx: Db,
  active: ActiveRun[],
  action: StopAction,
): Promise<StoppedRuns> {
  const listIds = (status: ActiveRun['status']): string[] =>
    active.filter((run) => run.status === status).map((run) => run.run_id);
  const pending = listIds('pending');
  const running = listIds('running');
  const ended =
    pending.length === 0
      ? []
      : action === 'rollback'
        ? await deleteRuns(tx, pending, { tells: true })
        : await endPendingRuns(tx, pending);
  return {
    ended,
    stopping: running.length === 0 ? [] : await askToStop(tx, running, action),
    action,
  };
}

/** Tells readers of ended runs, and workers of running ones. */
export async function notifyStopped(
  deps: TellStoppedDeps,
  { ended, stopping, action }: StoppedRuns,
): Promise<void> {
  const { readers, executor, signals } = deps;
  for (const run of ended) await readers.end(run.run_id, run.readers);
  if (ended.some(({ told }) => told)) await signals.send({ about: 'webhook' });
  for (const { run_id, worker } of stopping) {
    if (worker === signals.processId) executor.stop(run_id, action);
    else await signals.send({ about: 'stop', run_id }, worker);
  }
}

/** Stops the selected runs that are unfinished, and returns how many there were. */
export async function cancelRuns(
  deps: CancelDeps,
  select: (tx: Db) => Promise<ActiveRun[]>,
  action: StopAction,
): Promise<number> {
  const stopped = await deps.db.transaction(async (tx) => stopRuns(tx, await select(tx), action));
  await notifyStopped(deps, stopped);
  return stopped.ended.length + stopped.stopping.length;
}
