import { Unavailable } from '../../errors.ts';
import type { SseEvent } from '../../http/routes/route.ts';
import {
  formatEventId,
  type Cursor,
  type RunEvent,
  type ThreadStreamMode,
  isAfter,
} from '../../schema/agent/stream-event.ts';
import { readThreadEvents } from '../db/events/events.ts';
import type { Subscription } from './bus.ts';
import type { EventSource } from './log.ts';
import { toThreadEventName } from './wanted.ts';
import { parseIdTime } from '../kernel/ids.ts';

export type ThreadReading = {
  threadId: string;
  subscription: Subscription;
  /** The last event that the reader has; undefined: it begins now. */
  from: Cursor | undefined;
  modes: ThreadStreamMode[];
};

const PAGE = 500;

/** Yields the events of all runs of the thread, those to come included, until the client leaves or the server stops. */
export async function* followThreadEvents(
  source: EventSource,
  { threadId, subscription, from, modes }: ThreadReading,
): AsyncGenerator<SseEvent> {
  const { tail } = source.eventLog;
  const positions = ReadPositions.buildFrom(from);
  const toShownEvents = function* (runId: string, event: RunEvent): Generator<SseEvent> {
    const name = positions.advance(runId, event)
      ? toThreadEventName(event.event, modes)
      : undefined;
    if (name !== undefined) yield { event: name, json: event.json, id: formatEventId(event) };
  };
  const loadStored = async function* (runId?: string): AsyncGenerator<SseEvent> {
    for (let after = positions.getCursor(runId); ;) {
      const page = await readThreadEvents(source.db, threadId, { runId, after, limit: PAGE });
      for (const event of page) yield* toShownEvents(event.run_id, event);
      after = page.at(-1) ?? after;
      if (page.length === PAGE) continue;
      // Events that the table does not have yet lie behind those that it has.
      const runs =
        tail === undefined ? [] : runId === undefined ? await tail.runsOf(threadId) : [runId];
      for (const run of runs)
        for (const event of await tail!.eventsOf(run, positions.getCursor(run)))
          yield* toShownEvents(run, event);
      return;
    }
  };
  await source.eventLog.waitUntilWritten();
  if (from !== undefined) yield* loadStored();
  for (;;) {
    const message = await subscription.readNext();
    if (message === undefined || message.kind === 'end') return;
    if (message.kind === 'too-slow')
      throw new Unavailable('The reader was too slow; join the stream again.');
    if (message.kind === 'events') {
      if (tail !== undefined && positions.isAhead(message.run_id, message.events))
        yield* loadStored(message.run_id);
      for (const event of message.events) yield* toShownEvents(message.run_id, event);
    } else yield* loadStored(message.run_id);
  }
}

/** The most runs of a thread whose positions are remembered: far more than can be under way, or end late, at a time. */
const REMEMBERED = 200;
const BEGINNING: Cursor = { ms: 0, seq: 0 };

/**
 * Holds how far a reader of a thread has read each of its runs. The clocks of workers differ, and the end of one run
 * may arrive after the beginning of the next, so a single position for all would lose events.
 */
export class ReadPositions {
  readonly #ofRun = new Map<string, Cursor>();
  readonly #since: number | undefined;
  #start: Cursor;

  /**
   * `since` is in milliseconds by this server's clock. A run made later is read from its first event, whatever its
   * worker's clock says.
   */
  private constructor(start: Cursor, since?: number) {
    this.#start = start;
    this.#since = since;
  }

  /** Returns the positions of a reader that begins now, or that goes on behind an event. */
  static buildFrom(cursor: Cursor | undefined, now = Date.now()): ReadPositions {
    return cursor === undefined
      ? new ReadPositions({ ms: now, seq: 0 }, now)
      : new ReadPositions(cursor);
  }

  /** Returns where the reader goes on in the run or, without a run, in all of them. */
  getCursor(runId?: string): Cursor {
    if (runId === undefined) return this.#start;
    const isLater = this.#since !== undefined && parseIdTime(runId) >= this.#since;
    return this.#ofRun.get(runId) ?? (isLater ? BEGINNING : this.#start);
  }

  /** Returns whether events of the run are missing before these. Of a run that was under way before, nothing is. */
  isAhead(runId: string, events: Cursor[]): boolean {
    const at = this.getCursor(runId);
    const first = events.find((event) => isAfter(event, at));
    return (
      first !== undefined && (this.#ofRun.has(runId) || at.seq === 0) && first.seq !== at.seq + 1
    );
  }

  /** Moves on to the event; returns false when it has been read before. */
  advance(runId: string, event: Cursor): boolean {
    if (!isAfter(event, this.getCursor(runId))) return false;
    this.#ofRun.set(runId, { ms: event.ms, seq: event.seq });
    const [oldest] = this.#ofRun;
    if (this.#ofRun.size > REMEMBERED && oldest !== undefined) {
      this.#ofRun.delete(oldest[0]);
      if (isAfter(oldest[1], this.#start)) this.#start = oldest[1];
    }
    return true;
  }
}
