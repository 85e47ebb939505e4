import { RequestRefused } from '../../api/calls.ts';
import type { StudioAgent } from '../agent.ts';
import type { ListedRun } from '../agent-answers.ts';
import { listPastTasks, type NestedMessages, type PastTask } from './live-run.ts';
import { listRunTurns, type RunTurn } from './run-turns.ts';

/** The runs of a thread as they were, and the messages that graphs within the graph wrote in them. */
export type PastRuns = { turns: RunTurn[]; nested: NestedMessages[] };

type Newest = { id: string; letters: number };

/** Reads the last runs of a thread, with the messages of graphs within the graph where these are asked for. */
export async function fetchPastRuns(
  agent: StudioAgent,
  { thread, newest, withNested }: { thread: string; newest: Newest; withNested: boolean },
  over: AbortSignal,
): Promise<PastRuns> {
  const [steps, runs, calls] = await Promise.all([
    agent.fetchLastSteps(thread, newest.letters, over),
    fetchListedRuns(agent, thread, over).catch(() => []),
    // A server that is older lists none.
    agent.listCalls(thread, over).catch(() => []),
  ]);
  const tasks = withNested ? listPastTasks(steps, newest.id) : [];
  return {
    turns: listRunTurns(steps, newest.id, { runs, calls }),
    nested: await fetchNested(agent, { thread, tasks }, over),
  };
}

const RUN_FIELDS = ['run_id', 'status', 'created_at'];

/** Reads the runs of a thread with their usage. A server that is older than the counts refuses their name. */
async function fetchListedRuns(
  agent: StudioAgent,
  thread: string,
  over: AbortSignal,
): Promise<ListedRun[]> {
  try {
    return await agent.listRuns(thread, [...RUN_FIELDS, 'usage'], over);
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.status !== 422) throw error;
    return agent.listRuns(thread, RUN_FIELDS, over);
  }
}

/** Requests at the same time. */
const AT_ONCE = 4;

async function fetchNested(
  agent: StudioAgent,
  { thread, tasks }: { thread: string; tasks: readonly PastTask[] },
  over: AbortSignal,
): Promise<NestedMessages[]> {
  const found = new Map<PastTask, NestedMessages>();
  const waiting = tasks.values();
  const runWork = async (): Promise<void> => {
    for (const task of waiting) {
      const written = await agent.fetchNestedMessages(thread, task.within, over);
      // Its input is no message that it wrote. Nobody saw it while the run was on, either.
      const messages = written.filter(({ type }) => type !== 'human');
      if (messages.length > 0) found.set(task, { ...task, messages });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runWork));
  return tasks.flatMap((task) => found.get(task) ?? []);
}
