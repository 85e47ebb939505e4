import type { ThreadQuestions } from '../db/threads/threads.ts';
import type { Readers } from '../runs/reading/readers.ts';
import { isLifecycle, listQuestionIds } from '../stream/protocol/last-run.ts';
import { buildAgentTree } from './agent-tree.ts';
import type { Db } from '../db/base/pool.ts';
import { selectActive } from '../db/runs/runs.ts';
import type { BatchedStatements } from '../db/batched-statements.ts';

export type QuestionDeps = {
  db: Db;
  batched: BatchedStatements;
  readers: Readers;
};

/** Milliseconds within which the end of a run is written after its last event. */
const WRITTEN_WITHIN = 10_000;

const NOTHING_REPORTED = { status: '', graph_name: '' };
const OVER = ['completed', 'failed', 'interrupted'];

export const listInterruptIds = (thread: ThreadQuestions | undefined): string[] =>
  thread?.status === 'interrupted'
    ? Object.values(thread.interrupts).flatMap((some) => some.flatMap(({ id }) => id ?? []))
    : [];

/** Returns the open questions of the thread, once the run whose last events the client may have seen has ended. */
export async function loadSettledQuestions(
  deps: QuestionDeps,
  threadId: string,
  signal: AbortSignal,
): Promise<ThreadQuestions | undefined> {
  const thread = await deps.batched.threadQuestions(threadId);
  if (thread?.status !== 'busy') return thread;
  await waitForRunEnd(deps, threadId, undefined, signal);
  return deps.batched.threadQuestions(threadId);
}

/**
 * Returns the questions that the client may have seen: those that the thread waits at, or that the run under way has
 * asked so far.
 */
export async function openQuestions(
  deps: QuestionDeps,
  threadId: string,
  signal: AbortSignal,
): Promise<string[]> {
  const thread = await deps.batched.threadQuestions(threadId);
  if (thread?.status !== 'busy') return listInterruptIds(thread);
  const { run_id, events } = (await deps.readers.loadReportedRun(threadId)) ?? { events: [] };
  const asked = listQuestionIds(events);
  if (!OVER.includes(buildAgentTree(events.filter(isLifecycle), NOTHING_REPORTED).status))
    return asked;
  await waitForRunEnd(deps, threadId, run_id, signal);
  const later = await deps.batched.threadQuestions(threadId);
  return later?.status === 'busy' ? asked : listInterruptIds(later);
}

/**
 * Settles when the run under way has ended, or that of the id, or does not end in time. A client may see the last
 * events of a run before its end is written, so its next command has to wait for that.
 */
async function waitForRunEnd(
  { db, readers }: QuestionDeps,
  threadId: string,
  run_id: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const active = await selectActive(db, { thread_id: threadId });
  const running = active.find(
    ({ status, run_id: id }) => status === 'running' && (run_id === undefined || id === run_id),
  );
  if (running === undefined) return;
  const enough = AbortSignal.any([signal, AbortSignal.timeout(WRITTEN_WITHIN)]);
  const { progress, subscription } = await readers.followRun(
    { runId: running.run_id, threadId },
    { signal: enough, hears: 'end' },
  );
  if (progress.status === 'running') await readers.waitForEnd(progress, subscription);
  else subscription.close();
}
