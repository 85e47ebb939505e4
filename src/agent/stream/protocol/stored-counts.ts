import { countProtocolEvents } from '../../db/events/protocol-events.ts';
import type { EventSource } from '../log.ts';
import { parseEventName } from '../event-name.ts';
import { isEventSelected, type EventFilter } from './filter.ts';

/** Returns how many stored protocol events of a thread lie behind the number `since` and pass the filter. */
export async function countStored(
  { db, eventLog }: EventSource,
  threadId: string,
  { since, ...filter }: EventFilter & { since: number },
): Promise<number> {
  await eventLog.waitUntilWritten(threadId);
  const { last, counts } = await countProtocolEvents(db, threadId, since);
  const late = (await eventLog.tail?.protocolEventsOf(threadId, last)) ?? [];
  const numbers = [...counts, ...late.map(({ event }) => ({ event, count: 1 }))];
  return numbers
    .filter(({ event }) => isEventSelected(filter, parseEventName(event)))
    .reduce((sum, { count }) => sum + count, 0);
}
