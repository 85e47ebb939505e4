import { Unavailable } from '../../errors.ts';
import type { SseEvent } from '../../http/route.ts';
import { eventId, isAfter, type Cursor, type RunEvent } from '../../schema/stream-event.ts';
import { readEvents } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import type { BusMessage, Subscription } from './bus.ts';
import type { EventLog } from './log.ts';
import { isWanted, type Wanted } from './wanted.ts';

export type EventSource = { db: Db; eventLog: Pick<EventLog, 'written'> };

/** How one reader reads the events of one run. */
export type RunReading = {
  run_id: string;
  subscription: Subscription;
  /** The last event that the reader has: only what comes after it is sent. */
  from: Cursor;
  /** True when what lies behind it must be read from the table first. */
  replay: boolean;
  /** True when the run is over, so that the table has everything. */
  ended: boolean;
  resumable: boolean;
  wanted: Wanted;
};

const PAGE = 500;

/**
 * Yields the events of a run to one reader: what is stored, then what comes, without gap or duplicate, until the run
 * ends. Events that came together are yielded together. Throws `Unavailable` when the reader was too slow.
 */
export async function* runEvents(source: EventSource, reading: RunReading): AsyncGenerator<SseEvent[]> {
  const { subscription, wanted, resumable } = reading;
  const send = (event: RunEvent): SseEvent => ({ event: event.event, json: event.json, ...(resumable && { id: eventId(event) }) });
  try {
    for await (const events of allEvents(source, reading)) {
      const shown = events.filter(({ event }) => isWanted(event, wanted));
      if (shown.length > 0) yield shown.map(send);
    }
  } finally {
    subscription.close();
  }
}

/** Returns true for the end of a run that ended in this process, so that all its events were published here. */
const endedHere = (message: BusMessage): boolean => message.kind === 'end' && message.result !== undefined;

async function* allEvents(source: EventSource, { run_id, subscription, from, replay, ended }: RunReading): AsyncGenerator<RunEvent[]> {
  let at = from;
  let missed = false;
  const stored = async function* (): AsyncGenerator<RunEvent[]> {
    for (;;) {
      const page = await readEvents(source.db, run_id, { after: at, limit: PAGE });
      at = page.at(-1) ?? at;
      yield page;
      if (page.length < PAGE) return;
    }
  };
  const notYetSeen = (events: RunEvent[]): RunEvent[] => {
    const later = events.filter((event) => isAfter(event, at));
    // A run numbers its events without a gap.
    missed ||= later.length > 0 && later[0]!.seq !== at.seq + 1;
    at = later.at(-1) ?? at;
    return later;
  };
  if (replay || ended) {
    await source.eventLog.written();
    yield* stored();
  }
  if (ended) return;
  for (;;) {
    const message = await subscription.next();
    if (message === undefined) return;
    if (message.kind === 'too-slow') throw new Unavailable('The reader was too slow; join the stream again.');
    if (message.kind === 'events') yield notYetSeen(message.events);
    else {
      if (missed || !endedHere(message)) yield* stored();
      if (message.kind === 'end') return;
    }
  }
}
