import type { GraphHost } from '../graphs/host.ts';
import type { Database } from '../db/base/pool.ts';
import { NotFound, Problem } from '../../errors.ts';
import { parseJsonText } from '../../schema/wire/wall/json-text.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import type { Patterns } from '../db/base/permits.ts';
import { findTask, type TaskRun } from '../db/runs/tasks.ts';
import { isUuid } from '../kernel/ids.ts';
import { loadThreadCall } from '../graphs/thread-call.ts';
import type { Json } from '../../schema/json.ts';

/* Tasks by their ids, and the states that they left. */

/** A task: the run that it began with, and the last one. */
export type FoundTask = { id: string; first: string; run: TaskRun };

type ReadDeps = { db: Database; host: GraphHost };
export const buildTaskId = (threadId: string, firstRun: string): string =>
  `${threadId}:${firstRun}`;

/** Returns the task that ends with a run. */
export function toFoundTask(run: TaskRun): FoundTask {
  const first = run.task ?? run.run_id;
  return { id: buildTaskId(run.thread_id, first), first, run };
}

/** The actions on a task. `change`: who hears of it. */
export type TaskAction = 'read' | 'cancel' | 'change';

/** Returns the threads that the caller may do this on. A refusal looks as if there was no such task. */
export async function permitThreads(
  caller: AgentCaller,
  action: TaskAction,
  ids: { thread_id: string; run_id: string | null },
): Promise<Patterns> {
  try {
    if (action === 'read') return (await askPermission(caller, 'threads:read', ids)).permits;
    const stops = action === 'cancel' && { action: 'interrupt' as const };
    return (await askPermission(caller, 'threads:update', { ...ids, metadata: {}, ...stops }))
      .permits;
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return [];
    throw error;
  }
}

/** Returns the task, and the threads that the caller may do this on. Throws `NotFound`, also for another's task. */
export async function loadTask(
  { db }: ReadDeps,
  id: string,
  {
    caller,
    assistant_id,
    action,
  }: { caller: AgentCaller; assistant_id: string } & { action: TaskAction },
): Promise<FoundTask & { permits: Patterns }> {
  const [thread_id = '', run_id = '', ...rest] = id.split(':');
  const isKnown = isUuid(thread_id) && isUuid(run_id) && rest.length === 0;
  const permits = isKnown ? await permitThreads(caller, action, { thread_id, run_id }) : [];
  const run = isKnown
    ? await findTask(db, { thread_id, run_id }, { assistant_id, seen: permits })
    : undefined;
  if (run === undefined) throw new NotFound(`Task not found: ${id}`);
  return { id, first: run_id, run, permits };
}

/** Returns the state that a completed task left; undefined where there is none any more. */
export async function loadTaskState(
  { db, host }: ReadDeps,
  { run_id, thread_id, graph_id }: TaskRun,
): Promise<unknown> {
  const call = await loadThreadCall({ db, host }, { thread_id, graph_id });
  const [last] = parseJsonText<Json[]>(
    await host.call('history', { ...call, limit: 1, metadata: { run_id } }),
  );
  return last?.['values'];
}
