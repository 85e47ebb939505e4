import { NotFound } from '../../errors.ts';
import type { Thread } from '../../schema/agent/thread.ts';
import { loadThreadHead } from '../db/threads/threads.ts';
import type { PinnedThread } from '../graphs/pinned-calls.ts';
import type { AgentDeps } from '../parts/deps.ts';

/** A thread as a request names it, and as it is; `thread` is undefined where it is not there yet. */
export type NamedThread = { threadId: string; thread: Thread | undefined };

/** Returns the thread with the revision that answers calls about it. Throws `NotFound` for one without a state. */
export async function loadPinnedThread({ db }: AgentDeps, threadId: string): Promise<PinnedThread> {
  const head = await loadThreadHead(db, threadId);
  if (head === undefined || head.graph_id === null)
    throw new NotFound(`Thread with ID ${threadId} not found`);
  return { ...head, graph_id: head.graph_id };
}

/** Returns the values of a thread's last state, and the nodes that come next. */
export async function loadThreadState(
  deps: AgentDeps,
  threadId: string,
): Promise<{ values: unknown; next: string[] }> {
  const head = await loadPinnedThread(deps, threadId);
  const { json: text } = await deps.pinnedCalls.call(head, 'state', { checkpoint: null });
  return JSON.parse(text) as { values: unknown; next: string[] };
}
