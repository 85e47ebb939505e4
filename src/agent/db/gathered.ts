import type { Thread } from '../../schema/thread.ts';
import type { Db } from './pool.ts';
import { runContexts, type Asked, type RunContext } from './runs.ts';
import { insertThreads, type NewThread } from './threads.ts';
import { Together } from './together.ts';

/** What many clients ask for at the same time, each for itself: those that come while a statement is under way share the next one. */
export type Gathered = {
  /** Undefined when the id is taken. */
  insertThread(thread: NewThread): Promise<Thread | undefined>;
  /** Undefined when there is no such assistant. */
  runContext(asked: Asked): Promise<(RunContext & { thread_runs: number }) | undefined>;
};

export function gathered(db: Db): Gathered {
  const threads = new Together((some: NewThread[]) => insertThreads(db, some));
  const contexts = new Together((some: Asked[]) => runContexts(db, some));
  return { insertThread: (thread) => threads.add(thread), runContext: (asked) => contexts.add(asked) };
}
