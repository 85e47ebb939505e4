import type { Thread } from '../../schema/agent/thread.ts';
import type { Db } from './base/pool.ts';
import { runContexts, type RunContextKey, type RunContext } from './runs/runs.ts';
import { keptEvents, type KeptEvents, type KeptEventsKey } from './events/protocol-events.ts';
import { insertThreads, threadQuestions, type NewThread, type ThreadOfMany, type ThreadQuestions } from './threads/threads.ts';
import { currentContext } from '../kernel/encryption-context.ts';
import { Batcher } from './base/batcher.ts';

/**
 * Statements that many clients ask for at the same time: requests that come while one is under way share the next one.
 */
export type BatchedStatements = {
  /** Inserts a thread; returns undefined when the id is taken. */
  insertThread(thread: NewThread): Promise<Thread | undefined>;
  /** Returns the values that a run takes from its assistant and thread; undefined when the assistant does not exist. */
  runContext(asked: RunContextKey): Promise<(RunContext & { thread_runs: number }) | undefined>;
  /** Returns the questions of the thread; undefined when the thread does not exist. */
  threadQuestions(threadId: string): Promise<ThreadQuestions | undefined>;
  /** Returns where the thread's events begin and end; undefined when the thread does not exist. */
  keptEvents(asked: KeptEventsKey): Promise<KeptEvents | undefined>;
};

export function batchedStatements(db: Db): BatchedStatements {
  const threads = new Batcher((some: ThreadOfMany[]) => insertThreads(db, some));
  const contexts = new Batcher((some: RunContextKey[]) => runContexts(db, some));
  const questions = new Batcher((some: string[]) => threadQuestions(db, some));
  const kept = new Batcher((some: KeptEventsKey[]) => keptEvents(db, some));
  return {
    insertThread: (thread) => threads.add({ ...thread, context: currentContext() }),
    runContext: (asked) => contexts.add(asked),
    threadQuestions: (threadId) => questions.add(threadId),
    keptEvents: (asked) => kept.add(asked),
  };
}
