import {
  START,
  type Cursor,
  type RunEvent,
  type ThreadEvent,
} from '../../../schema/agent/stream-event.ts';
import type { EventTail } from '../tail.ts';
import type { EventStore } from './store.ts';

export function buildEventTail(
  store: EventStore,
  open: (runId: string, events: RunEvent[]) => Promise<RunEvent[]>,
): EventTail {
  const readEvents = async (runId: string, after: Cursor): Promise<RunEvent[]> =>
    open(runId, await store.readEvents(runId, after));
  return {
    eventsOf: readEvents,
    runsOf: (threadId) => store.readRuns(threadId),
    protocolEventsOf: async (threadId, after) => {
      const found: ThreadEvent[] = [];
      const runs = await store.readRuns(threadId);
      // The last runs have the highest numbers, so the events behind the number are mostly in one of them.
      for (const runId of runs.toReversed()) {
        const events = (await readEvents(runId, START)).filter(
          (event): event is ThreadEvent => typeof event.thread_seq === 'number',
        );
        found.unshift(...events.filter(({ thread_seq }) => thread_seq > after));
        if (events.length > 0 && events[0]!.thread_seq <= after + 1) break;
      }
      return found.toSorted((a, b) => a.thread_seq - b.thread_seq);
    },
  };
}
