import type { Thread } from '../../schema/agent/thread.ts';
import type { Db } from './base/pool.ts';
import { runContexts, type RunContextKey, type RunContext } from './runs/runs.ts';
import { loadEventRanges, type KeptEvents, type KeptEventsKey } from './events/protocol-events.ts';
import {
  insertThreads,
  loadThreadQuestions,
  type NewThread,
  type ThreadOfMany,
  type ThreadQuestions,
} from './threads/threads.ts';
import { getCurrentContext } from '../kernel/encryption-context.ts';
import { Batcher } from './base/batcher.ts';

/**
 * Statements that many clients ask for at the same time: requests that come while one is under way share the next one.
 */
export type BatchedStatements = {
  /** Inserts a thread; returns undefined when the id is taken. */
  insertThread(thread: NewThread): Promise<Thread | undefined>;
  /** Returns the values that a run takes from its assistant and thread; undefined when the assistant does not exist. */
  runContext(asked: RunContextKey): Promise<(RunContext & { thread_runs: number }) | undefined>;
  threadQuestions(threadId: string): Promise<ThreadQuestions | undefined>;
  /** Returns where the thread's events begin and end; undefined when the thread does not exist. */
  keptEvents(asked: KeptEventsKey): Promise<KeptEvents | undefined>;
};

export function createBatchedStatements(db: Db): BatchedStatements {
  const threads = new Batcher((some: ThreadOfMany[]) => insertThreads(db, some));
  const contexts = new Batcher((some: RunContextKey[]) => runContexts(db, some));
  const questions = new Batcher((some: string[]) => loadThreadQuestions(db, some));
  const kept = new Batcher((some: KeptEventsKey[]) => loadEventRanges(db, some));
  return {
    insertThread: (thread) => threads.add({ ...thread, context: getCurrentContext() }),
    runContext: (asked) => contexts.add(asked),
    threadQuestions: (threadId) => questions.add(threadId),
    keptEvents: (asked) => kept.add(asked),
  };
}
