import { RUN_DONE, runDone } from '../../schema/stream-event.ts';
import { deleteCheckpoints, deleteRunCheckpoints } from '../db/checkpoints.ts';
import { appendLast } from '../db/events.ts';
import { endLost, requeueLost, type Lost } from '../db/leases.ts';
import type { Db } from '../db/pool.ts';
import { deleteRuns, isThere } from '../db/runs.ts';
import type { GraphHost } from '../threads/host.ts';
import type { Log } from '../../log.ts';
import type { Signals } from '../db/signals.ts';
import type { Tickets } from '../queue/tickets.ts';
import { threadKey, type Bus } from '../stream/bus.ts';
import { refreshThread } from './refresh.ts';

/** `lifeSeconds`: how long events are kept. */
type Settling = { tickets: Tickets; maxAttempts: number; lifeSeconds: number };

export type Settled = Lost & { ended: boolean };

/**
 * What becomes of a run whose worker is gone: back to the queue, or the end that was asked for, or an error after too many lives. A life counts from
 * the moment a worker takes the run: one that dies with it before its first step can't be told from one that dies of it.
 */
export async function settleLost(tx: Db, run: Lost, { tickets, maxAttempts, lifeSeconds }: Settling): Promise<Settled> {
  const ends = (...told: [event: string, json: string][]): Promise<void> =>
    appendLast(tx, run, [...told, [RUN_DONE, runDone(run.run_id)]], lifeSeconds);
  if (run.cancel === 'rollback') {
    await deleteRunCheckpoints(tx, run.thread_id, run.run_id);
    await deleteRuns(tx, [run.run_id]);
    await ends();
  } else if (run.cancel === 'interrupt') {
    await endLost(tx, run.run_id, { status: 'interrupted', error: null });
    await ends();
  } else if (run.lost + 1 >= maxAttempts) {
    const message = `The run was given up after ${run.lost + 1} attempts: each time its worker died or lost the database (exceeded max attempts).`;
    const error = { error: 'WorkerLost', message };
    await endLost(tx, run.run_id, { status: 'error', error });
    await ends(['error', JSON.stringify(error)]);
  } else {
    await requeueLost(tx, [run.run_id]);
    await tickets.send(tx, run, { again: true });
    return { ...run, ended: false };
  }
  return { ...run, ended: true };
}

/** A run, or its whole thread, that was deleted while its graph was still writing leaves nothing: what came after the deletion goes, too. */
export async function dropIfDeleted(db: Db, { run_id, thread_id }: { run_id: string; thread_id: string }): Promise<void> {
  const is = await isThere(db, { run_id, thread_id });
  if (!is.thread) await deleteCheckpoints(db, [thread_id]);
  else if (!is.run) await deleteRunCheckpoints(db, thread_id, run_id);
}

type Tells = { bus: Bus; signals: Signals; db: Db; host: GraphHost; log: Log };

/** Tells readers of the run and of its thread, here and elsewhere, once what became of it is committed; its thread stands where it left it. */
export async function tellLost(deps: Tells, runs: Settled[]): Promise<void> {
  const { bus, signals } = deps;
  for (const run of runs) {
    const { run_id, thread_id, readers, thread_readers, ended } = run;
    bus.say(run_id, ended ? { kind: 'end', outcome: undefined } : { kind: 'wake', run_id });
    bus.say(threadKey(thread_id), { kind: 'wake', run_id });
    const others = new Set([...readers, ...thread_readers].filter((reader) => reader !== signals.processId));
    for (const reader of others) {
      await signals.send({ about: 'events', run_ids: [run_id], thread_ids: [thread_id] }, reader);
      if (ended) await signals.send({ about: 'end', run_id }, reader);
    }
    // Nobody waits for it: a graph thread that is stuck must not keep other lost runs from being taken up.
    if (ended && !run.temporary && run.cancel !== 'rollback') void refreshThread(deps, run);
  }
}
