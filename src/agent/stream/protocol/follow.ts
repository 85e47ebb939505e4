import { setTimeout as wait } from 'node:timers/promises';
import { Unavailable } from '../../../errors.ts';
import type { ThreadEvent } from '../../../schema/agent/stream-event.ts';
import type { BatchedStatements } from '../../db/batched-statements.ts';
import type { Db } from '../../db/base/pool.ts';
import type { Signals } from '../../db/base/signals.ts';
import type { KeptEvents } from '../../db/events/protocol-events.ts';
import { getThread } from '../../db/threads/threads.ts';
import type { BusMessage, Subscription } from '../bus.ts';
import type { StreamLog } from '../log.ts';
import { filterLaterEvents, loadProtocolEvents, type StoredIn } from '../tail.ts';
import { buildEventName } from '../event-name.ts';
import { buildThreadSnapshot } from './snapshot.ts';

/*
 * How one reader reads a thread's protocol events: the stored ones, then new ones, each once and in the order of their
 * numbers.
 */

type Deps = {
  db: Db;
  batched: BatchedStatements;
  eventLog: StreamLog;
  signals: Signals;
};

export type ProtocolReading = {
  threadId: string;
  subscription: Subscription;
  /** Hears whether the thread has a run under way whose events don't come to this process yet. */
  register(isBusy: boolean): void;
  /** The number of the last event that the reader has; 0 means none. */
  since: number;
};

/**
 * Events that came together; or, before the events that can still be given, the gap of those that can't. `after` and
 * `before` are the numbers around the gap.
 */
export type Batch = { events: ThreadEvent[] } | { gap: { after: number; before: number } };

const RUN_BEGINS = buildEventName({ method: 'lifecycle', namespace: [] });

/** Yields the thread's protocol events until the reader leaves or the server stops. */
export async function* followProtocolEvents(
  deps: Deps,
  { threadId, subscription, register, since }: ProtocolReading,
): AsyncGenerator<Batch> {
  await deps.eventLog.waitUntilWritten(threadId);
  const start = await findStart(deps, threadId, since);
  register(start.busy);
  for (const batch of start.batches) yield batch;
  let { at } = start;
  const loadStored = async function* (): AsyncGenerator<Batch> {
    for await (const events of loadProtocolEvents(toSource(deps), threadId, at)) {
      at = events.at(-1)!.thread_seq;
      yield { events };
    }
  };
  if (start.last > at) yield* loadStored();
  for (;;) {
    const message = await subscription.readNext();
    if (message === undefined || message.kind === 'end') return;
    const { events, isBehind } = pickNewEvents(message, at);
    if (isBehind) {
      // Earlier events are on their way, or in the table, because a run begins only when all of the one before is
      // there.
      await deps.eventLog.waitUntilWritten(threadId);
      yield* loadStored();
    }
    const fresh = filterLaterEvents(events, at);
    at = fresh.at(-1)?.thread_seq ?? at;
    if (fresh.length > 0) yield { events: fresh };
  }
}

/**
 * Returns the events of a message that are new to a reader that stands at the number. `isBehind`: the table has more
 * before it.
 */
function pickNewEvents(
  message: Exclude<BusMessage, { kind: 'end' }>,
  at: number,
): { events: ThreadEvent[]; isBehind: boolean } {
  if (message.kind === 'too-slow')
    throw new Unavailable('The reader was too slow; join the stream again.');
  if (message.kind === 'wake')
    return { events: [], isBehind: message.thread_seq === undefined || message.thread_seq > at };
  const events = filterLaterEvents(message.events.filter(isNumbered), at);
  return { events, isBehind: events.length > 0 && events[0]!.thread_seq !== at + 1 };
}

/** Yields the events between two numbers that a reader has passed, and an event in place of those that are gone. */
export async function* loadProtocolRange(
  deps: Deps,
  threadId: string,
  { since, upTo }: { since: number; upTo: number },
): AsyncGenerator<Batch> {
  await deps.eventLog.waitUntilWritten(threadId);
  const start = await findStart(deps, threadId, since);
  for (const batch of start.batches) yield batch;
  if (start.at >= upTo) return;
  for await (const page of loadProtocolEvents(toSource(deps), threadId, start.at)) {
    const events = page.filter(({ thread_seq }) => thread_seq <= upTo);
    if (events.length > 0) yield { events };
    if (events.length < page.length || page.at(-1)!.thread_seq === upTo) return;
  }
}

const isNumbered = (event: { thread_seq?: number | null }): event is ThreadEvent =>
  typeof event.thread_seq === 'number';

const toSource = ({ db, eventLog }: Deps): StoredIn => ({
  db,
  tail: eventLog.tail,
});

/**
 * Returns where the reader begins, the thread's last number, and the event that stands for those that are no longer
 * kept.
 */
async function findStart(
  deps: Deps,
  threadId: string,
  since: number,
): Promise<{ at: number; last: number; busy: boolean; batches: Batch[] }> {
  const kept = await loadKept(deps, threadId, since);
  const busy = kept?.busy === true;
  if (kept === undefined || kept.last === 0) return { at: 0, last: 0, busy, batches: [] };
  // A reader that has more than is stored got it from a worker that died before it stored it.
  const at = Math.min(since, kept.last);
  const begin = kept.first?.thread_seq ?? kept.last + 1;
  const { last } = kept;
  if (at + 1 >= begin) return { at, last, busy, batches: [] };
  return {
    at: begin - 1,
    last,
    busy,
    batches: [
      // A reader that has nothing misses nothing.
      ...(since === 0 ? [] : [{ gap: { after: since, before: begin } }]),
      ...(await loadSnapshot(deps.db, threadId, { kept, begin })),
    ],
  };
}

/** Milliseconds between two looks for events that a reader has and their writer is about to write. */
const PAUSE = 200;
const LOOKS = 15;

/** Returns where the thread's events begin and end, in the table and in the key-value store. */
async function loadKept(
  { batched, signals, eventLog: { tail } }: Deps,
  threadId: string,
  since: number,
): Promise<KeptEvents | undefined> {
  const look = async (): Promise<KeptEvents | undefined> => {
    const kept = await batched.keptEvents({ threadId, reader: signals.processId });
    if (kept === undefined || tail === undefined) return kept;
    const late = await tail.protocolEventsOf(threadId, kept.last);
    return { ...kept, first: kept.first ?? late[0], last: late.at(-1)?.thread_seq ?? kept.last };
  };
  let kept = await look();
  if (tail === undefined) return kept;
  // The reader may have got events from the store, which is gone now, that their writer writes into the table only now.
  for (let looks = 0; kept !== undefined && kept.last < since && looks < LOOKS; looks += 1) {
    await wait(PAUSE);
    kept = await look();
  }
  return kept;
}

/** Returns where the thread stands, unless the events begin with a run, because they then say it themselves. */
async function loadSnapshot(
  db: Db,
  threadId: string,
  { kept, begin }: { kept: KeptEvents; begin: number },
): Promise<Batch[]> {
  if (kept.first?.event === RUN_BEGINS) return [];
  const thread = await getThread(db, threadId);
  return thread === undefined ? [] : [{ events: buildThreadSnapshot(thread, begin - 1) }];
}
