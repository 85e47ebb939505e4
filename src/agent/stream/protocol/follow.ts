import { Unavailable } from '../../../errors.ts';
import type { ThreadEvent } from '../../../schema/stream-event.ts';
import type { BatchedStatements } from '../../db/batched-statements.ts';
import type { Db } from '../../db/pool.ts';
import type { Signals } from '../../db/signals.ts';
import { readProtocolEvents, type KeptEvents } from '../../db/protocol-events.ts';
import { getThread } from '../../db/threads.ts';
import type { BusMessage, Subscription } from '../bus.ts';
import type { EventLog } from '../log.ts';
import { eventName } from './event-name.ts';
import { snapshotOf } from './snapshot.ts';

/*
 * How one reader reads a thread's protocol events: what is stored, then what comes, each once and in the order of their
 * numbers.
 */

type Deps = {
  db: Db;
  batched: Pick<BatchedStatements, 'keptEvents'>;
  eventLog: Pick<EventLog, 'written'>;
  signals: Pick<Signals, 'processId'>;
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

const PAGE = 500;
const RUN_BEGINS = eventName({ method: 'lifecycle', namespace: [] });

/** Yields the thread's protocol events until the reader leaves or the server stops. */
export async function* protocolEvents(deps: Deps, { threadId, subscription, register, since }: ProtocolReading): AsyncGenerator<Batch> {
  await deps.eventLog.written(threadId);
  const start = await startOf(deps, threadId, since);
  register(start.busy);
  for (const batch of start.batches) yield batch;
  let { at } = start;
  const stored = async function* (): AsyncGenerator<Batch> {
    for (;;) {
      const page = await readProtocolEvents(deps.db, threadId, { after: at, limit: PAGE });
      const events = inOrder(page, at);
      at = events.at(-1)?.thread_seq ?? at;
      if (events.length > 0) yield { events };
      if (page.length < PAGE) return;
    }
  };
  if (start.last > at) yield* stored();
  for (;;) {
    const message = await subscription.next();
    if (message === undefined || message.kind === 'end') return;
    const { events, isBehind } = arrival(message, at);
    if (isBehind) {
      // What comes before is on its way, or in the table, because a run begins only when all of the one before is
      // there.
      await deps.eventLog.written(threadId);
      yield* stored();
    }
    const fresh = inOrder(events, at);
    at = fresh.at(-1)?.thread_seq ?? at;
    if (fresh.length > 0) yield { events: fresh };
  }
}

/** Returns what a message brings to a reader that stands at the number. `isBehind`: the table has more before it. */
function arrival(message: Exclude<BusMessage, { kind: 'end' }>, at: number): { events: ThreadEvent[]; isBehind: boolean } {
  if (message.kind === 'too-slow') throw new Unavailable('The reader was too slow; join the stream again.');
  if (message.kind === 'wake') return { events: [], isBehind: message.thread_seq === undefined || message.thread_seq > at };
  const events = inOrder(message.events.filter(isNumbered), at);
  return { events, isBehind: events.length > 0 && events[0]!.thread_seq !== at + 1 };
}

/** Yields the events between two numbers that a reader has passed, and what stands in place of those that are gone. */
export async function* protocolEventsUpTo(
  deps: Deps,
  threadId: string,
  { since, upTo }: { since: number; upTo: number },
): AsyncGenerator<Batch> {
  await deps.eventLog.written(threadId);
  const start = await startOf(deps, threadId, since);
  for (const batch of start.batches) yield batch;
  for (let { at } = start; at < upTo;) {
    const page = await readProtocolEvents(deps.db, threadId, { after: at, limit: PAGE });
    const events = inOrder(page, at).filter(({ thread_seq }) => thread_seq <= upTo);
    if (events.length > 0) yield { events };
    if (page.length < PAGE) return;
    at = events.at(-1)?.thread_seq ?? upTo;
  }
}

const isNumbered = (event: { thread_seq?: number | null }): event is ThreadEvent => typeof event.thread_seq === 'number';

/** Returns the events behind the number, each once. */
function inOrder(events: ThreadEvent[], after: number): ThreadEvent[] {
  let at = after;
  return events.filter(({ thread_seq }) => {
    if (thread_seq <= at) return false;
    at = thread_seq;
    return true;
  });
}

type Start = { at: number; last: number; busy: boolean; batches: Batch[] };

/**
 * Returns where the reader begins, the thread's last number, and what the reader gets for events that are no longer
 * kept.
 */
async function startOf({ db, batched, signals }: Deps, threadId: string, since: number): Promise<Start> {
  const kept = await batched.keptEvents({ threadId, reader: signals.processId });
  const busy = kept?.busy === true;
  if (kept === undefined || kept.last === 0) return { at: 0, last: 0, busy, batches: [] };
  // A reader that has more than is stored got it from a worker that died before it stored it.
  const at = Math.min(since, kept.last);
  const begin = kept.first?.thread_seq ?? kept.last + 1;
  const { last } = kept;
  if (at + 1 >= begin) return { at, last, busy, batches: [] };
  return { at: begin - 1, last, busy, batches: [...gapOf(since, begin), ...(await standIn(db, threadId, { kept, begin }))] };
}

/** Returns the gap for a reader. A reader that has nothing misses nothing. */
const gapOf = (since: number, begin: number): Batch[] => (since === 0 ? [] : [{ gap: { after: since, before: begin } }]);

/** Returns where the thread stands, unless the events begin with a run, because they then say it themselves. */
async function standIn(db: Db, threadId: string, { kept, begin }: { kept: KeptEvents; begin: number }): Promise<Batch[]> {
  if (kept.first?.event === RUN_BEGINS) return [];
  const thread = await getThread(db, threadId);
  return thread === undefined ? [] : [{ events: snapshotOf(thread, begin - 1) }];
}
