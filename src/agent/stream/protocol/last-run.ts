import type { ThreadEvent } from '../../../schema/agent/stream-event.ts';
import { readLastRun } from '../../db/events/protocol-events.ts';
import type { EventSource } from '../run-events.ts';
import { inOrder } from '../tail.ts';
import { asksForInput, placeOfEvent } from '../event-name.ts';

/*
 * What the last run of a thread that publishes protocol events has told of its graphs, and what it has asked. Readers
 * may know it before the run has written its end.
 */

/** `events` are those of the methods `lifecycle` and `input.requested`, in order. */
export type ToldRun = { run_id: string; events: ThreadEvent[] };

/** Returns what the last run has told; undefined when none has told anything that is kept. */
export async function toldByLastRun({ db, eventLog }: EventSource, threadId: string): Promise<ToldRun | undefined> {
  await eventLog.written(threadId);
  const { tail } = eventLog;
  const events = await readLastRun(db, threadId);
  const told = events.length === 0 ? undefined : { run_id: events[0]!.run_id, events };
  if (tail === undefined) return told;
  const run_id = (await tail.runsOf(threadId)).at(-1);
  const late = run_id === undefined ? [] : (await tail.eventsOf(run_id, { ms: 0, seq: 0 })).filter(isTold);
  // Runs that publish no protocol events are among those of the store.
  if (run_id === undefined || late.length === 0) return told;
  const before = told?.run_id === run_id ? told.events : [];
  const all = [...before, ...late].toSorted((one, other) => one.thread_seq - other.thread_seq);
  return { run_id, events: inOrder(all, 0) };
}

const isTold = (event: { event: string; thread_seq?: number | null }): event is ThreadEvent =>
  typeof event.thread_seq === 'number' && (isLifecycle(event) || asksForInput(event.event));

/** Returns whether an event tells of a graph. */
export const isLifecycle = ({ event }: { event: string }): boolean => placeOfEvent(event).method === 'lifecycle';

/** Returns the ids of the questions among what a run has told. */
export const questionsAmong = (events: Pick<ThreadEvent, 'event' | 'json'>[]): string[] =>
  events
    .filter(({ event }) => asksForInput(event))
    .map(({ json }) => (JSON.parse(json) as { data: { interrupt_id: string } }).data.interrupt_id);
