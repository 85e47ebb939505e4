import { setTimeout as wait } from 'node:timers/promises';
import type { Cursor, RunEvent, ThreadEvent } from '../../schema/agent/stream-event.ts';
import { appendMissing, loadLastEventCursor, readEvents } from '../db/events/events.ts';
import { getCurrentContext } from '../kernel/encryption-context.ts';
import { readProtocolEvents } from '../db/events/protocol-events.ts';
import type { Db } from '../db/base/pool.ts';

/** The events in the key-value store; any of them may also be in the table, and none of them is for sure. */
export type EventTail = {
  /** Returns the run's events behind the cursor, in order. */
  eventsOf(runId: string, after: Cursor): Promise<RunEvent[]>;
  /** Returns the ids of the thread's last runs, in the order in which they began. */
  runsOf(threadId: string): Promise<string[]>;
  /** Returns the thread's protocol events behind the number, in order. */
  protocolEventsOf(threadId: string, after: number): Promise<ThreadEvent[]>;
};

/** Where stored events are. Without a key-value store the table has all of them. */
export type StoredIn = { db: Db; tail: EventTail | undefined };

const PAGE = 500;

/** How events are read at both places, behind a position. */
type Places<E, P> = {
  late(after: P): Promise<E[]>;
  /** `more` says that the next page may have events, or that the other place may. */
  table(after: P): Promise<{ events: E[]; more: boolean }>;
  positionOf(event: E): P;
  numberOf(position: P): number;
};

/** Yields the stored events of a run behind the cursor, in order. */
export const loadStoredEvents = (
  { db, tail }: StoredIn,
  runId: string,
  after: Cursor,
): AsyncGenerator<RunEvent[]> =>
  readBoth<RunEvent, Cursor>(after, {
    late: async (at) => (await tail?.eventsOf(runId, at)) ?? [],
    table: async (at) => {
      const events = await readEvents(db, runId, { after: at, limit: PAGE });
      return { events, more: tail !== undefined || events.length === PAGE };
    },
    positionOf: (event) => event,
    numberOf: ({ seq }) => seq,
  });

/** Yields the stored protocol events of a thread behind the number, in order. */
export const loadProtocolEvents = (
  { db, tail }: StoredIn,
  threadId: string,
  after: number,
): AsyncGenerator<ThreadEvent[]> =>
  readBoth<ThreadEvent, number>(after, {
    late: async (at) => filterLaterEvents((await tail?.protocolEventsOf(threadId, at)) ?? [], at),
    table: async (at) => {
      const page = await readProtocolEvents(db, threadId, { after: at, limit: PAGE });
      return {
        events: filterLaterEvents(page, at),
        more: tail !== undefined || page.length === PAGE,
      };
    },
    positionOf: ({ thread_seq }) => thread_seq,
    numberOf: (at) => at,
  });

/** Yields events in order: the table has all up to some event, the key-value store may have those behind it. */
async function* readBoth<E, P>(
  after: P,
  { late, table, positionOf, numberOf }: Places<E, P>,
): AsyncGenerator<E[]> {
  for (let at = after; ;) {
    const found = await late(at);
    const first = numberOf(at) + 1;
    const hole = found.findIndex((event, place) => numberOf(positionOf(event)) !== first + place);
    const next = hole === -1 ? found : found.slice(0, hole);
    if (next.length > 0) {
      at = positionOf(next.at(-1)!);
      yield next;
      continue;
    }
    const { events, more } = await table(at);
    // Earlier events are nowhere, because a worker died before they were stored.
    const fresh = events.length > 0 ? events : found;
    if (fresh.length > 0) yield fresh;
    if (events.length === 0 || !more) return;
    at = positionOf(events.at(-1)!);
  }
}

/** Returns the events behind the number, each once. */
export function filterLaterEvents(events: ThreadEvent[], after: number): ThreadEvent[] {
  let at = after;
  return events.filter(({ thread_seq }) => {
    if (thread_seq <= at) return false;
    at = thread_seq;
    return true;
  });
}

/** Milliseconds between two looks for events that are about to be written, and how often a reader looks. */
const PAUSE = 100;
const LOOKS = 50;

/**
 * Looks until there is nothing missing, or for some seconds: by then any process with a copy has written it, or is
 * dead.
 */
export async function* lookForMissing<E>(
  isMissing: () => boolean,
  look: () => AsyncGenerator<E>,
): AsyncGenerator<E> {
  for (let looks = 0; isMissing() && looks < LOOKS; looks += 1) {
    if (looks > 0) await wait(PAUSE);
    yield* look();
  }
}

/** Returns where the stored events of a run end. */
export async function loadLastCursor(
  { db, tail }: StoredIn,
  runId: string,
): Promise<Cursor | undefined> {
  const last = await loadLastEventCursor(db, runId);
  const [late] = (await tail?.eventsOf(runId, last ?? { ms: 0, seq: 0 }))?.slice(-1) ?? [];
  return late === undefined ? last : { ms: late.ms, seq: late.seq };
}

/**
 * Writes into the table the events that only the key-value store has of a run whose worker is gone, because nobody else
 * will, under the context of the work. Returns the number of the last protocol event among them, or 0.
 */
export async function adoptEvents(
  { db, tail }: StoredIn,
  { run_id, thread_id }: { run_id: string; thread_id: string },
  lifeSeconds: number,
): Promise<number> {
  if (tail === undefined) return 0;
  const events = await tail.eventsOf(
    run_id,
    (await loadLastEventCursor(db, run_id)) ?? { ms: 0, seq: 0 },
  );
  if (events.length === 0) return 0;
  const context = getCurrentContext();
  const rows = events.map((event) => ({ ...event, run_id, thread_id, context }));
  await appendMissing(db, rows, lifeSeconds);
  return Math.max(...events.map(({ thread_seq }) => thread_seq ?? 0));
}
