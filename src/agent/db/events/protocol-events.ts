import type { ThreadEvent } from '../../../schema/agent/stream-event.ts';
import { openEvents } from '../fields/event-data.ts';
import { wrapParameter } from '../base/plans.ts';
import type { Db } from '../base/pool.ts';
import { LAST_SEQ } from './last-seq.ts';

/* Events of protocol v2 lie among those of the runs. */

/** The number of events that are kept for a thread. */
export const MOST_KEPT = 10_000;

/**
 * Returns a thread's stored events after the number, in order. An event that was written twice, by a worker that had
 * lost its run, comes twice.
 */
export async function readProtocolEvents(
  db: Db,
  threadId: string,
  { after, limit }: { after: number; limit: number },
): Promise<ThreadEvent[]> {
  const events = await db.query<ThreadEvent & { run_id: string }>({
    name: 'event_read_protocol',
    text: `select run_id, ms, seq, thread_seq, event, data as json from gx.stream_event
      where thread_id = $1 and thread_seq > $2 order by thread_seq, ms desc limit $3`,
    values: [threadId, after, limit],
  });
  return openEvents(db, events);
}

/**
 * Counts a thread's stored events after the number, by their names, each once. `last` is the number of the last one, or
 * the given one when there is none.
 */
export async function countProtocolEvents(
  db: Db,
  threadId: string,
  after: number,
): Promise<{ last: number; counts: { event: string; count: number }[] }> {
  const counts = await db.query<{ event: string; count: number; last: number }>({
    name: 'event_count_protocol',
    text: `select event, count(distinct thread_seq)::int as count, max(thread_seq) as last from gx.stream_event
      where thread_id = $1 and thread_seq > $2 group by event`,
    values: [threadId, after],
  });
  return { last: Math.max(after, ...counts.map(({ last }) => last)), counts };
}

/** Returns the graphs and questions that the thread's last run with such events has reported, in order. */
export async function readLastRun(
  db: Db,
  threadId: string,
): Promise<(ThreadEvent & { run_id: string })[]> {
  const events = await db.query<ThreadEvent & { run_id: string }>({
    text: `select run_id, ms, seq, thread_seq, event, data as json from gx.stream_event
      where thread_id = $1 and thread_seq is not null and (event like 'v2:lifecycle%' or event like 'v2:input.requested%') and run_id = (
        select run_id from gx.stream_event where thread_id = $1 and thread_seq is not null order by thread_seq desc limit 1)
      order by thread_seq`,
    values: [threadId],
  });
  return openEvents(db, events);
}

/**
 * Where a thread's events begin and end. `first` is undefined when none is kept; `last` is 0 when there never was one.
 * `busy`: a run is under way, or waits, whose row does not name the reader's process.
 */
export type KeptEvents = {
  first: { thread_seq: number | null; event: string } | undefined;
  last: number;
  busy: boolean;
};

export type KeptEventsKey = { threadId: string; reader: string };

type KeptRow = {
  place: number;
  thread_seq: number | null;
  event: string;
  last: number;
  busy: boolean;
};

/** Returns, in the order of the keys, where each thread's events begin and end; undefined for a missing thread. */
export async function loadEventRanges(
  db: Db,
  asked: KeptEventsKey[],
): Promise<(KeptEvents | undefined)[]> {
  const rows = await db.query<KeptRow>({
    name: 'event_kept',
    text: `select i.place, f.thread_seq, f.event, ${LAST_SEQ} as last,
        exists (select 1 from gx.run r where r.thread_id = t.thread_id and r.status in ('pending', 'running')
          and not i.reader = any(r.readers)) as busy
      from unnest(${wrapParameter('$1::uuid[]')}, ${wrapParameter('$2::uuid[]')}) with ordinality i (thread_id, reader, place),
          lateral (select x.thread_id, x.event_seq from gx.thread x where x.thread_id = i.thread_id limit 1) t
        left join lateral (select e.thread_seq, e.event from gx.stream_event e
          where e.thread_id = t.thread_id and e.thread_seq is not null order by e.thread_seq limit 1) f on true`,
    values: [asked.map(({ threadId }) => threadId), asked.map(({ reader }) => reader)],
  });
  const toEventRange = ({ thread_seq, event, last, busy }: KeptRow): KeptEvents => ({
    first: thread_seq === null ? undefined : { thread_seq, event },
    last,
    busy,
  });
  const found = new Map(rows.map((row) => [row.place, toEventRange(row)]));
  return asked.map((_, at) => found.get(at + 1));
}

/**
 * Deletes the events of runs that ended longer ago than `lifeSeconds`, and of each thread those beyond the number that
 * is kept.
 */
export async function deleteOldProtocolEvents(
  db: Db,
  { lifeSeconds }: { lifeSeconds: number },
): Promise<void> {
  await deleteCounted(
    db,
    `thread_seq is not null and expires_at = 'infinity' and not exists (select 1 from gx.run r
      where r.run_id = e.run_id and (r.ended_at is null or r.ended_at > now() - $1 * interval '1 second'))`,
    lifeSeconds,
  );
  await deleteCounted(
    db,
    `(thread_id, thread_seq) in (select e.thread_id, e.thread_seq from gx.stream_event e join (
      select thread_id, max(thread_seq) - $1 as upto from gx.stream_event where thread_seq is not null
        group by thread_id having count(*) > $1) t on e.thread_id = t.thread_id and e.thread_seq <= t.upto)`,
    MOST_KEPT,
  );
}

/** Deletes events, and has their threads remember the last number that goes. */
async function deleteCounted(db: Db, condition: string, parameter: number): Promise<void> {
  await db.query({
    text: `with gone as (delete from gx.stream_event e where ${condition} returning thread_id, thread_seq),
      last as (select thread_id, max(thread_seq) as thread_seq from gone group by thread_id)
      update gx.thread t set event_seq = l.thread_seq from last l where t.thread_id = l.thread_id and t.event_seq < l.thread_seq`,
    values: [parameter],
  });
}
