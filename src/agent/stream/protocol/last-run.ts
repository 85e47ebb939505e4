import type { ThreadEvent } from '../../../schema/agent/stream-event.ts';
import { readLastRun } from '../../db/events/protocol-events.ts';
import type { EventSource } from '../log.ts';
import { filterLaterEvents } from '../tail.ts';
import { isInputRequest, parseEventName } from '../event-name.ts';

/*
 * The graphs and questions that the last run of a thread with protocol events has reported. Readers may know them
 * before the run has written its end.
 */

/** `events` are those of the methods `lifecycle` and `input.requested`, in order. */
export type ReportedRun = { run_id: string; events: ThreadEvent[] };

/** Returns the last run and its reported events; undefined when none of them is kept. */
export async function loadReportedRun(
  { db, eventLog }: EventSource,
  threadId: string,
): Promise<ReportedRun | undefined> {
  await eventLog.waitUntilWritten(threadId);
  const { tail } = eventLog;
  const events = await readLastRun(db, threadId);
  const reported = events.length === 0 ? undefined : { run_id: events[0]!.run_id, events };
  if (tail === undefined) return reported;
  const run_id = (await tail.runsOf(threadId)).at(-1);
  const late =
    run_id === undefined ? [] : (await tail.eventsOf(run_id, { ms: 0, seq: 0 })).filter(isReported);
  // Runs that publish no protocol events are among those of the store.
  if (run_id === undefined || late.length === 0) return reported;
  const before = reported?.run_id === run_id ? reported.events : [];
  const all = [...before, ...late].toSorted((one, other) => one.thread_seq - other.thread_seq);
  return { run_id, events: filterLaterEvents(all, 0) };
}

const isReported = (event: { event: string; thread_seq?: number | null }): event is ThreadEvent =>
  typeof event.thread_seq === 'number' && (isLifecycle(event) || isInputRequest(event.event));

/** Returns whether an event tells of a graph. */
export const isLifecycle = ({ event }: { event: string }): boolean =>
  parseEventName(event).method === 'lifecycle';

/** Returns the ids of the questions among the events of a run. */
export const listQuestionIds = (events: ThreadEvent[]): string[] =>
  events
    .filter(({ event }) => isInputRequest(event))
    .map(({ json }) => (JSON.parse(json) as { data: { interrupt_id: string } }).data.interrupt_id);
