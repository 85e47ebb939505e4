import type { Subscription } from '../stream/bus.ts';
import type { GraphHost } from '../graphs/host.ts';
import type { Database } from '../db/base/pool.ts';
import { NotFound, Unavailable } from '../../errors.ts';
import type { SseEvent } from '../../http/routes/route.ts';
import { isUnfinished } from '../../schema/agent/run.ts';
import { findTask } from '../db/runs/tasks.ts';
import { describeProgress } from '../runs/reading/progress.ts';
import type { Readers } from '../runs/reading/readers.ts';
import type { WantedEvents } from '../stream/wanted.ts';
import {
  buildTaskForm,
  toTaskState,
  buildEndUpdates,
  updateUnderWay,
  type TaskFacts,
} from './task-form.ts';
import { loadTaskState, type FoundTask } from './tasks.ts';

export type StreamDeps = {
  readers: Readers;
  db: Database;
  host: GraphHost;
};

const ALL: WantedEvents = { modes: undefined, namespaces: undefined };

/** A task whose last run is followed. `events` end with the run. */
export type FollowedTask = { facts: TaskFacts; first: string; events: AsyncIterable<SseEvent[]> };

/** Follows the run of a task from now on. */
export async function followTask(
  { readers }: StreamDeps,
  { id, first, run }: FoundTask,
  signal: AbortSignal,
): Promise<FollowedTask> {
  const followed = await readers.followRun(
    { runId: run.run_id, threadId: run.thread_id },
    { signal, hears: 'events' },
  );
  const { events } = await readers.readEventsAfter(undefined, followed, ALL);
  return { facts: { id, run, state: undefined }, first, events };
}

/** Returns the events of a run that has just been made. */
export const streamRunEvents = (
  { readers }: StreamDeps,
  made: { run_id: string; subscription: Subscription },
): AsyncIterable<SseEvent[]> => readers.readEventsFromStart({ ...made, wanted: ALL });

/** Yields the task, its updates and its end, as version 1.0 writes them; nothing more once the client left. */
export async function* streamTaskUpdates(
  deps: StreamDeps,
  { facts, first, events }: FollowedTask,
  { assistant_id, signal }: { assistant_id: string; signal: AbortSignal },
): AsyncGenerator<Record<string, unknown>> {
  yield { task: buildTaskForm(facts) };
  for await (const some of events) for (const event of some) yield* buildUpdates(facts, event);
  if (signal.aborted) return;
  const { thread_id } = facts.run;
  const run = await findTask(
    deps.db,
    { thread_id, run_id: first },
    { assistant_id, seen: undefined },
  );
  if (run === undefined) throw new NotFound(`The task was removed: ${facts.id}`);
  if (isUnfinished(run.status))
    throw new Unavailable('The stream ended before the task did; join it again.');
  const state = toTaskState(run) === 'COMPLETED' ? await loadTaskState(deps, run) : undefined;
  yield* buildEndUpdates({ id: facts.id, run, state });
}

function* buildUpdates(facts: TaskFacts, event: SseEvent): Generator<Record<string, unknown>> {
  const words = describeProgress(event);
  if (words !== undefined)
    yield updateUnderWay(facts, event.event === 'metadata' ? undefined : words, new Date());
}
