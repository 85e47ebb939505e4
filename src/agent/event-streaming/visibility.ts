import { NotFound } from '../../errors.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import type { Db } from '../db/base/pool.ts';
import { loadThreadHead } from '../db/threads/threads.ts';

/** The view that a caller has of one thread, which need not exist yet. */
export type Visibility = {
  /** Returns whether the caller may see the thread as it is now; false where it is not there. */
  isSeen(): Promise<boolean>;
  /** Passes on the batches, if the caller may see the thread. Throws `NotFound` otherwise. */
  shown<T>(batches: AsyncIterable<T>): AsyncIterable<T>;
};

/**
 * Asks whether the caller may read the thread. Throws `NotFound` when it exists and the caller may not see it. A thread
 * that comes later is looked at when it has its first event, because another caller may make it.
 */
export async function loadVisibility(
  db: Db,
  caller: AgentCaller,
  threadId: string,
): Promise<Visibility> {
  const { permits } = await askPermission(caller, 'threads:read', { thread_id: threadId });
  if (permits === undefined)
    return { isSeen: () => Promise.resolve(true), shown: (batches) => batches };
  const buildNotFound = (): NotFound => new NotFound(`Thread with ID ${threadId} not found`);
  const isSeen = async (): Promise<boolean> =>
    (await loadThreadHead(db, threadId, permits)) !== undefined;
  let seen = await isSeen();
  if (!seen && (await loadThreadHead(db, threadId)) !== undefined) throw buildNotFound();
  return {
    isSeen,
    async *shown(batches) {
      for await (const batch of batches) {
        seen ||= await isSeen();
        if (!seen) throw buildNotFound();
        yield batch;
      }
    },
  };
}
