import { Unavailable } from '../../errors.ts';
import type { SseEvent } from '../../http/route.ts';
import { eventId, type Cursor, type RunEvent, type ThreadStreamMode } from '../../schema/agent/stream-event.ts';
import { readThreadEvents } from '../db/events/events.ts';
import type { Subscription } from './bus.ts';
import { ReadPositions } from './read-positions.ts';
import type { EventSource } from './run-events.ts';
import { inThreadStream } from './wanted.ts';

/** How one reader reads the events of all runs of a thread. */
export type ThreadReading = {
  threadId: string;
  subscription: Subscription;
  /** The last event that the reader has; undefined: it begins now. */
  from: Cursor | undefined;
  modes: ThreadStreamMode[];
};

const PAGE = 500;

/** Yields the events of all runs of the thread, those to come included, until the client leaves or the server stops. */
export async function* threadEvents(source: EventSource, { threadId, subscription, from, modes }: ThreadReading): AsyncGenerator<SseEvent> {
  const { tail } = source.eventLog;
  const positions = ReadPositions.from(from);
  const shown = function* (runId: string, event: RunEvent): Generator<SseEvent> {
    const name = positions.advance(runId, event) ? inThreadStream(event.event, modes) : undefined;
    if (name !== undefined) yield { event: name, json: event.json, id: eventId(event) };
  };
  const stored = async function* (runId?: string): AsyncGenerator<SseEvent> {
    for (let after = positions.after(runId); ;) {
      const page = await readThreadEvents(source.db, threadId, { runId, after, limit: PAGE });
      for (const event of page) yield* shown(event.run_id, event);
      after = page.at(-1) ?? after;
      if (page.length === PAGE) continue;
      // Events that the table does not have yet lie behind those that it has.
      const runs = tail === undefined ? [] : runId === undefined ? await tail.runsOf(threadId) : [runId];
      for (const run of runs) for (const event of await tail!.eventsOf(run, positions.after(run))) yield* shown(run, event);
      return;
    }
  };
  await source.eventLog.written();
  if (from !== undefined) yield* stored();
  for (;;) {
    const message = await subscription.next();
    if (message === undefined || message.kind === 'end') return;
    if (message.kind === 'too-slow') throw new Unavailable('The reader was too slow; join the stream again.');
    if (message.kind === 'events') {
      if (tail !== undefined && positions.isAhead(message.run_id, message.events)) yield* stored(message.run_id);
      for (const event of message.events) yield* shown(message.run_id, event);
    } else yield* stored(message.run_id);
  }
}
