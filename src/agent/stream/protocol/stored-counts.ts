import { countProtocolEvents } from '../../db/events/protocol-events.ts';
import type { EventSource } from '../run-events.ts';
import { placeOfEvent } from '../event-name.ts';
import { letsThrough, type EventFilter } from './filter.ts';

/** Returns how many stored protocol events of a thread lie behind the number `since` and pass the filter. */
export async function countStored(
  { db, eventLog }: EventSource,
  threadId: string,
  { since, ...filter }: EventFilter & { since: number },
): Promise<number> {
  await eventLog.written(threadId);
  const { last, counts } = await countProtocolEvents(db, threadId, since);
  const late = (await eventLog.tail?.protocolEventsOf(threadId, last)) ?? [];
  const numbers = [...counts, ...late.map(({ event }) => ({ event, count: 1 }))];
  return numbers.filter(({ event }) => letsThrough(filter, placeOfEvent(event))).reduce((sum, { count }) => sum + count, 0);
}
