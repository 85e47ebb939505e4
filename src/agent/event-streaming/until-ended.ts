import type { Db } from '../db/base/pool.ts';
import { selectActive } from '../db/runs/runs.ts';
import type { Readers } from '../runs/readers.ts';

/* A client may see the last events of a run before its end is written, so its next command has to wait for that. */

export type UntilEndedDeps = { db: Db; readers: Pick<Readers, 'followRun' | 'waitForEnd'> };

/** Milliseconds within which the end of such a run is written. */
const WRITTEN_WITHIN = 10_000;

/** `run_id`: the run whose end is meant; without it, the one that is under way. */
type Place = { threadId: string; run_id?: string | undefined };

/** Settles when the thread's run under way has ended, or does not end in time. */
export async function untilEnded({ db, readers }: UntilEndedDeps, { threadId, run_id }: Place, signal: AbortSignal): Promise<void> {
  const active = await selectActive(db, { thread_id: threadId });
  const running = active.find((run) => run.status === 'running' && (run_id === undefined || run.run_id === run_id));
  if (running === undefined) return;
  const enough = AbortSignal.any([signal, AbortSignal.timeout(WRITTEN_WITHIN)]);
  const { progress, subscription } = await readers.followRun({ runId: running.run_id, threadId }, { signal: enough, hears: 'end' });
  if (progress.status === 'running') await readers.waitForEnd(progress, subscription);
  else subscription.close();
}
