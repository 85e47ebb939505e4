import { Unavailable } from '../../errors.ts';
import type { SseEvent } from '../../http/route.ts';
import { eventId, isAfter, type Cursor, type RunEvent } from '../../schema/agent/stream-event.ts';
import type { Db } from '../db/base/pool.ts';
import type { BusMessage, Subscription } from './bus.ts';
import type { StreamLog } from './log.ts';
import { lookingFor, storedEvents, type EventTail } from './tail.ts';
import { isWanted, type Wanted } from './wanted.ts';

export type EventSource = { db: Db; eventLog: Pick<StreamLog, 'written' | 'tail'> };

/** How one reader reads the events of one run. */
export type RunReading = {
  run_id: string;
  subscription: Subscription;
  /** The last event that the reader has: only later events are sent. */
  from: Cursor;
  /** True when the events behind it must be read from the table first. */
  replay: boolean;
  /** True when the run is over, so that the table has everything. */
  ended: boolean;
  wanted: Wanted;
};

/**
 * Yields the events of a run to one reader: the stored ones, then new ones, without gap or duplicate, until the run
 * ends. Events that came together are yielded together. Throws `Unavailable` when the reader was too slow.
 */
export async function* runEvents(source: EventSource, reading: RunReading): AsyncGenerator<SseEvent[]> {
  const { subscription, wanted } = reading;
  try {
    for await (const events of allEvents(source, reading)) {
      const shown = events.filter(({ event }) => isWanted(event, wanted));
      if (shown.length > 0) yield shown.map(asMessage);
    }
  } finally {
    subscription.close();
  }
}

const asMessage = (event: RunEvent): SseEvent => ({ event: event.event, json: event.json, id: eventId(event) });

/** Returns true for the end of a run that ended in this process, so that all its events were published here. */
const endedHere = (message: BusMessage): boolean => message.kind === 'end' && message.result !== undefined;

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

  async *stored(): AsyncGenerator<RunEvent[]> {
    const { db, eventLog } = this.#source;
    for await (const page of storedEvents({ db, tail: eventLog.tail }, this.#runId, this.at)) yield this.pass(page);
  }

  /** Moves behind the events, and returns those that come after the position so far. */
  pass(events: RunEvent[]): RunEvent[] {
    const later = this.#later(events);
    this.at = later.at(-1) ?? this.at;
    return later;
  }

  /** Returns whether events before these are missing. A run numbers its events without a gap. */
  misses(events: RunEvent[]): boolean {
    const [first] = this.#later(events);
    return first !== undefined && first.seq !== this.at.seq + 1;
  }

  #later(events: RunEvent[]): RunEvent[] {
    return events.filter((event) => isAfter(event, this.at));
  }
}

async function* allEvents(source: EventSource, reading: RunReading): AsyncGenerator<RunEvent[]> {
  const { subscription, replay, ended } = reading;
  const position = new RunPosition(source, reading);
  if (replay || ended) {
    await source.eventLog.written();
    yield* position.stored();
  }
  if (!ended) yield* liveEvents(source, subscription, position);
}

async function* liveEvents(
  { eventLog: { tail } }: EventSource,
  subscription: Subscription,
  position: RunPosition,
): AsyncGenerator<RunEvent[]> {
  let missed = false;
  for (;;) {
    const message = await subscription.next();
    if (message === undefined) return;
    if (message.kind === 'too-slow') throw new Unavailable('The reader was too slow; join the stream again.');
    if (message.kind === 'events') {
      const misses = position.misses(message.events);
      missed ||= misses;
      // This process lost its connection to the store for a moment.
      if (misses && tail !== undefined) yield* position.stored();
      yield position.pass(message.events);
      continue;
    }
    if (missed || !endedHere(message)) yield* position.stored();
    if (message.kind === 'end') return yield* upTo(message.last, tail, position);
  }
}

/**
 * Yields the events that are still missing at the end, which may be sent before the writer has stored those that the
 * store lost.
 */
async function* upTo(last: Cursor | undefined, tail: EventTail | undefined, position: RunPosition): AsyncGenerator<RunEvent[]> {
  if (last === undefined || tail === undefined) return;
  yield* lookingFor(
    () => isAfter(last, position.at),
    () => position.stored(),
  );
}
