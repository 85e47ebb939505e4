import type { StudioAgent } from '../agent.ts';
import { pastTasks, type NestedMessages, type PastTask } from './live-run.ts';

/** Requests at the same time. */
const AT_ONCE = 4;

/** Reads the messages that graphs within the graph wrote in the last steps of a thread. */
export async function pastNested(
  agent: StudioAgent,
  { thread, newest }: { thread: string; newest: { id: string; letters: number } },
  over: AbortSignal,
): Promise<NestedMessages[]> {
  const tasks = pastTasks(await agent.lastSteps(thread, newest.letters, over), newest.id);
  const found = new Map<PastTask, NestedMessages>();
  const waiting = tasks.values();
  const work = async (): Promise<void> => {
    for (const task of waiting) {
      const written = await agent.messagesWithin(thread, task.within, over);
      // Its input is no message that it wrote. Nobody saw it while the run was on, either.
      const messages = written.filter(({ type }) => type !== 'human');
      if (messages.length > 0) found.set(task, { ...task, messages });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return tasks.flatMap((task) => found.get(task) ?? []);
}
