import { Conflict } from '../../../errors.ts';
import type { Cursor, RunEvent } from '../../../schema/agent/stream-event.ts';
import { openEvents, sealEvents } from '../fields/event-data.ts';
import { wrapParameter } from '../base/plans.ts';
import type { Db } from '../base/pool.ts';
import { getCurrentContext, type EncryptionContext } from '../../kernel/encryption-context.ts';
import { LAST_SEQ } from './last-seq.ts';

/**
 * `attempt` is the run's attempt that sent the event; undefined where that is not checked. `context` is the one of the
 * run's values.
 */
export type StoredEvent = RunEvent & {
  run_id: string;
  thread_id: string;
  attempt?: number | undefined;
  context?: EncryptionContext | undefined;
};

/** Runs whose attempt is over: another worker has them, or they are back in the queue. One that is gone is not. */
const OVER = `over as materialized (select a.run_id from unnest(${wrapParameter('$11::uuid[]')}, ${wrapParameter('$12::int[]')}) as a (run_id, attempt),
    lateral (select r.attempt, r.worker from gx.run r where r.run_id = a.run_id limit 1) r where r.attempt <> a.attempt or r.worker is null)`;

type Appending = { wake: { channel: string; payload: string }[]; lifeSeconds: number };

/**
 * Writes a batch for readers elsewhere and later, and wakes the processes that wait for it, in one statement. Protocol
 * events stay for a while after the end of their run. Those of an attempt that has lost its run are left out. Events
 * that are there already, because such an attempt wrote them before, stay as they are.
 */
export async function appendEvents(
  db: Db,
  events: StoredEvent[],
  appending: Appending,
): Promise<void> {
  // Looking for existing rows would cost each event a third more, so it is done only where the statement fails.
  await append(db, events, appending).catch((error: unknown) => {
    if (!(error instanceof Conflict)) throw error;
    return append(db, events, { ...appending, orNothing: true });
  });
}

/** The same without waking anybody; events that are there already stay as they are. */
export const appendMissing = (db: Db, events: StoredEvent[], lifeSeconds: number): Promise<void> =>
  append(db, events, { wake: [], lifeSeconds, orNothing: true });

async function append(
  db: Db,
  events: StoredEvent[],
  { wake, lifeSeconds, orNothing = false }: Appending & { orNothing?: boolean },
): Promise<void> {
  const attempts = collectAttempts(events);
  await db.query({
    name: orNothing ? 'event_append_new' : 'event_append',
    text: `with ${OVER},
      written as (
        insert into gx.stream_event (run_id, ms, seq, thread_id, event, data, thread_seq, expires_at)
        select e.run_id, e.ms, e.seq, e.thread_id, e.event, e.data, e.thread_seq,
          case when e.thread_seq is null then now() + $7 * interval '1 second' else 'infinity' end
        from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $10::bigint[])
          as e (run_id, ms, seq, thread_id, event, data, thread_seq)
        where e.run_id <> all (array(select run_id from over)) ${orNothing ? 'on conflict do nothing' : ''})
      select pg_notify(w.channel, w.payload) from unnest($8::text[], $9::text[]) as w (channel, payload)`,
    values: [
      events.map(({ run_id }) => run_id),
      events.map(({ ms }) => ms),
      events.map(({ seq }) => seq),
      events.map(({ thread_id }) => thread_id),
      events.map(({ event }) => event),
      await sealEvents(db, events),
      lifeSeconds,
      wake.map(({ channel }) => channel),
      wake.map(({ payload }) => payload),
      events.map(({ thread_seq }) => thread_seq ?? null),
      [...attempts.keys()],
      [...attempts.values()],
    ],
  });
}

/** Returns the attempts that sent the events: run -> the last one. */
function collectAttempts(events: StoredEvent[]): Map<string, number> {
  const attempts = new Map<string, number>();
  for (const { run_id, attempt } of events)
    if (attempt !== undefined && attempt > (attempts.get(run_id) ?? 0))
      attempts.set(run_id, attempt);
  return attempts;
}

/**
 * Writes the last events of a run that nobody executes any more, behind all that is stored of it, under the context of
 * the work. At most one of them is a protocol event.
 */
export async function appendLast(
  tx: Db,
  { run_id, thread_id }: { run_id: string; thread_id: string },
  events: [event: string, json: string][],
  lifeSeconds: number,
): Promise<void> {
  await tx.query({
    text: `insert into gx.stream_event (run_id, ms, seq, thread_id, event, data, thread_seq, expires_at)
      select $1, greatest(last.ms, extract(epoch from clock_timestamp()) * 1000)::bigint, last.seq + e.n, $2, e.event, e.data,
        case when e.event like 'v2:%' then (select ${LAST_SEQ} + 1 from gx.thread t where t.thread_id = $2) end,
        now() + $5 * interval '1 second'
      from (select coalesce(max(ms), 0) as ms, coalesce(max(seq), 0) as seq from gx.stream_event where run_id = $1) last,
        unnest($3::text[], $4::text[]) with ordinality e (event, data, n)`,
    values: [
      run_id,
      thread_id,
      events.map(([event]) => event),
      await sealEvents(
        tx,
        events.map(([, json]) => ({ run_id, json, context: getCurrentContext() })),
      ),
      lifeSeconds,
    ],
  });
}

/** Returns a run's stored events after the cursor, in order. */
export async function readEvents(
  db: Db,
  runId: string,
  { after, limit }: { after: Cursor; limit: number },
): Promise<RunEvent[]> {
  const events = await db.query<RunEvent & { run_id: string }>({
    name: 'event_read',
    text: `select run_id, ms, seq, event, data as json from gx.stream_event
      where run_id = $1 and (ms, seq) > ($2::bigint, $3::bigint) order by ms, seq limit $4`,
    values: [runId, after.ms, after.seq, limit],
  });
  return openEvents(db, events);
}

/** Returns the stored events of all runs of a thread, or of one of them, after the cursor, without protocol events. */
export async function readThreadEvents(
  db: Db,
  threadId: string,
  { runId, after, limit }: { runId?: string | undefined; after: Cursor; limit: number },
): Promise<(RunEvent & { run_id: string })[]> {
  const events = await db.query<RunEvent & { run_id: string }>({
    name: runId === undefined ? 'event_read_thread' : 'event_read_thread_run',
    text: `select run_id, ms, seq, event, data as json from gx.stream_event
      where thread_id = $1 and thread_seq is null and (ms, seq) > ($2::bigint, $3::bigint) ${runId === undefined ? '' : 'and run_id = $5'} order by ms, seq limit $4`,
    values: [threadId, after.ms, after.seq, limit, ...(runId === undefined ? [] : [runId])],
  });
  return openEvents(db, events);
}

/** Returns where the run's stored events end, so that a second attempt goes on after them. */
export async function loadLastEventCursor(db: Db, runId: string): Promise<Cursor | undefined> {
  const [last] = await db.query<Cursor>({
    text: 'select ms, seq from gx.stream_event where run_id = $1 order by ms desc, seq desc limit 1',
    values: [runId],
  });
  return last;
}

export async function deleteExpiredEvents(db: Db): Promise<number> {
  const rows = await db.query({
    text: `delete from gx.stream_event where expires_at < now() and expires_at < 'infinity' returning 1`,
  });
  return rows.length;
}
