import type { Db } from '../db/pool.ts';
import { askToStop, deleteRuns, interruptPending, type ActiveRun } from '../db/runs.ts';
import type { AgentDeps } from '../deps.ts';

export type StopAction = 'interrupt' | 'rollback';

/** Whom to tell once the change is committed. */
export type Stopped = {
  ended: { run_id: string; readers: string[] }[];
  stopping: { run_id: string; worker: string }[];
  action: StopAction;
};

/** Waiting runs end (or vanish) at once; running ones are marked, so that their worker, or whoever takes them up after it, stops them. */
export async function stopRuns(tx: Db, active: ActiveRun[], action: StopAction): Promise<Stopped> {
  const ids = (status: ActiveRun['status']): string[] => active.filter((run) => run.status === status).map((run) => run.run_id);
  const pending = ids('pending');
  const running = ids('running');
  const ended = pending.length === 0 ? [] : action === 'rollback' ? await deleteRuns(tx, pending) : await interruptPending(tx, pending);
  return { ended, stopping: running.length === 0 ? [] : await askToStop(tx, running, action), action };
}

type Tells = Pick<AgentDeps, 'signals' | 'bus' | 'executor'>;

/** Tells readers of ended runs, and workers of running ones. */
export async function tellStopped({ signals, bus, executor }: Tells, { ended, stopping, action }: Stopped): Promise<void> {
  for (const { run_id, readers } of ended) {
    bus.say(run_id, { kind: 'end', outcome: undefined });
    for (const reader of readers) if (reader !== signals.processId) await signals.send({ about: 'end', run_id }, reader);
  }
  for (const { run_id, worker } of stopping) {
    if (worker === signals.processId) executor.stop(run_id, action);
    else await signals.send({ about: 'stop', run_id }, worker);
  }
}

/** Stops those of the runs that are unfinished; tells how many there were. */
export async function cancelRuns(
  deps: Pick<AgentDeps, 'db'> & Tells,
  select: (tx: Db) => Promise<ActiveRun[]>,
  action: StopAction,
): Promise<number> {
  const stopped = await deps.db.transaction(async (tx) => stopRuns(tx, await select(tx), action));
  await tellStopped(deps, stopped);
  return stopped.ended.length + stopped.stopping.length;
}
