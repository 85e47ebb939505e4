import { NotFound } from '../../../errors.ts';
import type { Run } from '../../../schema/agent/run.ts';
import { askPermission, type AgentCaller } from '../../auth/caller.ts';
import type { Db } from '../../db/base/pool.ts';
import { getRun } from '../../db/runs/runs.ts';
import { refuseGone } from './only-once.ts';
import type { Following } from '../../stream/bus.ts';
import type { FollowedRun, Readers } from '../reading/readers.ts';

/* Runs that the same request made before. */

type Deps = { db: Db; readers: Readers };
/** Returns the run as it is now, and follows it where that is asked for. Throws a 410 when it is gone. */
export async function loadEarlierRun(
  deps: Deps,
  runId: string,
  { caller, follow }: { caller: AgentCaller; follow: Following | undefined },
): Promise<{ run: Run; followed: FollowedRun | undefined }> {
  const run = await loadVisibleRun(deps, runId, caller);
  return { run, followed: follow && (await followRun(deps, runId, follow)) };
}

/** Returns runs as they are now, in the order of the ids. Throws a 410 when one of them is gone. */
export async function loadEarlierRuns(
  deps: Deps,
  runIds: string[],
  caller: AgentCaller,
): Promise<Run[]> {
  const runs: Run[] = [];
  for (const id of runIds) runs.push(await loadVisibleRun(deps, id, caller));
  return runs;
}

async function loadVisibleRun({ db }: Deps, run_id: string, caller: AgentCaller): Promise<Run> {
  const { permits } = await askPermission(caller, 'threads:read', { thread_id: null, run_id });
  return (await getRun(db, undefined, run_id, permits)) ?? refuseGone('The run');
}

async function followRun(
  { readers }: Deps,
  runId: string,
  follow: Following,
): Promise<FollowedRun> {
  try {
    const found = await readers.followRun({ runId, threadId: undefined }, follow);
    if (!found.progress.gone) return found;
    found.subscription.close();
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
  }
  return refuseGone('The run');
}
