import { Unavailable } from '../../errors.ts';
import type { SseEvent } from '../../http/routes/route.ts';
import {
  formatEventId,
  isAfter,
  type Cursor,
  type RunEvent,
} from '../../schema/agent/stream-event.ts';
import type { BusMessage, Subscription } from './bus.ts';
import type { EventSource } from './log.ts';
import { lookForMissing, loadStoredEvents, type EventTail } from './tail.ts';
import { isWanted, type WantedEvents } from './wanted.ts';

export type RunReading = {
  run_id: string;
  subscription: Subscription;
  /** The last event that the reader has: only later events are sent. */
  from: Cursor;
  /** True when the events behind it must be read from the table first. */
  replay: boolean;
  /** True when the run is over, so that the table has everything. */
  ended: boolean;
  wanted: WantedEvents;
};

/**
 * Yields the events of a run to one reader: the stored ones, then new ones, without gap or duplicate, until the run
 * ends. Events that came together are yielded together. Throws `Unavailable` when the reader was too slow.
 */
export async function* runEvents(
  source: EventSource,
  reading: RunReading,
): AsyncGenerator<SseEvent[]> {
  const { subscription, wanted } = reading;
  try {
    for await (const events of readAllEvents(source, reading)) {
      const shown = events.filter(({ event }) => isWanted(event, wanted));
      if (shown.length > 0) yield shown.map(toSseEvent);
    }
  } finally {
    subscription.close();
  }
}

const toSseEvent = (event: RunEvent): SseEvent => ({
  event: event.event,
  json: event.json,
  id: formatEventId(event),
});

/** Returns true for the end of a run that ended in this process, so that all its events were published here. */
const hasEndedHere = (message: BusMessage): boolean =>
  message.kind === 'end' && message.result !== undefined;

/** Where a reader stands in a run, and the events that it reads from there. */
class RunPosition {
  readonly #source: EventSource;
  readonly #runId: string;
  at: Cursor;

  constructor(source: EventSource, { run_id, from }: RunReading) {
    this.#source = source;
    this.#runId = run_id;
    this.at = from;
  }

  async *loadStored(): AsyncGenerator<RunEvent[]> {
    const { db, eventLog } = this.#source;
    for await (const page of loadStoredEvents({ db, tail: eventLog.tail }, this.#runId, this.at))
      yield this.pass(page);
  }

  /** Moves behind the events, and returns those that come after the position so far. */
  pass(events: RunEvent[]): RunEvent[] {
    const later = this.#filterLater(events);
    this.at = later.at(-1) ?? this.at;
    return later;
  }

  /** Returns whether events before these are missing. A run numbers its events without a gap. */
  hasGapBefore(events: RunEvent[]): boolean {
    const [first] = this.#filterLater(events);
    return first !== undefined && first.seq !== this.at.seq + 1;
  }

  #filterLater(events: RunEvent[]): RunEvent[] {
    return events.filter((event) => isAfter(event, this.at));
  }
}

async function* readAllEvents(
  source: EventSource,
  reading: RunReading,
): AsyncGenerator<RunEvent[]> {
  const { subscription, replay, ended } = reading;
  const position = new RunPosition(source, reading);
  if (replay || ended) {
    await source.eventLog.waitUntilWritten();
    yield* position.loadStored();
  }
  if (!ended) yield* followLiveEvents(source, subscription, position);
}

async function* followLiveEvents(
  { eventLog: { tail } }: EventSource,
  subscription: Subscription,
  position: RunPosition,
): AsyncGenerator<RunEvent[]> {
  let missed = false;
  for (;;) {
    const message = await subscription.readNext();
    if (message === undefined) return;
    if (message.kind === 'too-slow')
      throw new Unavailable('The reader was too slow; join the stream again.');
    if (message.kind === 'events') {
      const misses = position.hasGapBefore(message.events);
      missed ||= misses;
      // This process lost its connection to the store for a moment.
      if (misses && tail !== undefined) yield* position.loadStored();
      yield position.pass(message.events);
      continue;
    }
    if (missed || !hasEndedHere(message)) yield* position.loadStored();
    if (message.kind === 'end') return yield* loadMissing(message.last, tail, position);
  }
}

/**
 * Yields the events that are still missing at the end, which may be sent before the writer has stored those that the
 * store lost.
 */
async function* loadMissing(
  last: Cursor | undefined,
  tail: EventTail | undefined,
  position: RunPosition,
): AsyncGenerator<RunEvent[]> {
  if (last === undefined || tail === undefined) return;
  yield* lookForMissing(
    () => isAfter(last, position.at),
    () => position.loadStored(),
  );
}
