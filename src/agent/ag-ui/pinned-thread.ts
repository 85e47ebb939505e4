import { NotFound } from '../../errors.ts';
import { loadThreadHead } from '../db/threads/threads.ts';
import type { PinnedThread } from '../graphs/pinned-calls.ts';
import type { AgUiDeps } from './deps.ts';

/** Returns the thread with the revision that answers calls about it. Throws `NotFound` for one without a state. */
export async function loadPinnedThread({ db }: AgUiDeps, threadId: string): Promise<PinnedThread> {
  const head = await loadThreadHead(db, threadId);
  if (head === undefined || head.graph_id === null)
    throw new NotFound(`Thread with ID ${threadId} not found`);
  return { ...head, graph_id: head.graph_id };
}

/** Returns the values of a thread's last state, and the nodes that come next. */
export async function loadThreadState(
  deps: AgUiDeps,
  threadId: string,
): Promise<{ values: unknown; next: string[] }> {
  const head = await loadPinnedThread(deps, threadId);
  const { json: text } = await deps.pinnedCalls.call(head, 'state', { checkpoint: null });
  return JSON.parse(text) as { values: unknown; next: string[] };
}
