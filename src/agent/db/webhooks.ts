import type { JsonObject } from '../../schema/agent-types.ts';
import type { RunError, WebhookStatus } from '../../schema/run.ts';
import type { Place } from '../encryption/codec.ts';
import { toField } from './json-field.ts';
import type { Db } from './pool.ts';
import { openRuns } from './run-fields.ts';
import { THREAD_VALUES, VALUES } from './thread-values.ts';

/*
 * This file knows the ends of runs that are still to be told by webhook. Whoever ends a run writes such a row in the
 * same statement, so that no end is lost when a process dies between the two.
 */

/** Where a run's end is told. `host` is the one of the URL: a target that hangs must not hold up the others. */
export type WebhookTarget = { url: string; host: string };

/** What is told of an ended run, but for the time of the telling: the run as clients see it, and its thread's state. */
export type ToldEnd = {
  run_id: string;
  thread_id: string;
  status: string;
  run_started_at: string | null;
  run_ended_at: string;
  values: unknown;
  error: RunError | null;
} & JsonObject;

/**
 * How ends are described in SQL: where the rows `r` come from and which of them, their status, and the state that the
 * thread then has, as JSON.
 */
type EndSql = { from: string; status: string; values?: string; only?: string };

/** The state that the thread `t` of a run `r` has by itself. */
export const STATE_OF_THREAD = `(select ${VALUES} from gx.thread t where t.thread_id = r.thread_id)`;

/** Returns SQL that writes down, for each ended run `r` with a webhook, what is to be told. */
export const tellEnds = ({ from, status, values = STATE_OF_THREAD, only = 'true' }: EndSql): string => `
  insert into gx.webhook (run_id, url, host, message)
    select r.run_id, r.webhook->'url', r.webhook->>'host', json_build_object('run_id', r.run_id, 'thread_id', r.thread_id,
      'assistant_id', r.assistant_id, 'created_at', r.created_at, 'updated_at', now(), 'status', ${status}, 'metadata', r.metadata,
      'kwargs', r.kwargs, 'multitask_strategy', r.multitask_strategy, 'run_started_at', r.started_at, 'run_ended_at', now(),
      'values', ${values}, 'error', r.error)
    from ${from} where r.webhook is not null and ${only} on conflict (run_id) do nothing`;

export const webhookUrlPlace = (run_id: string): Place => ({ kind: 'webhook.url', of: run_id });

/** Returns what a run's column of its webhook gets. The URL may be a secret, and the host is not. */
export async function targetField({ codec }: Pick<Db, 'codec'>, runId: string, { url, host }: WebhookTarget): Promise<string> {
  return `{"url":${await codec.seal(webhookUrlPlace(runId), toField(url)!)},"host":${toField(host)}}`;
}

/** A message that this process sends now, as it is stored. */
export type DueWebhook = { run_id: string; url: unknown; host: string; attempts: number; message: ToldEnd; expired: boolean };

/** Returns where the message goes, and what it says. */
export async function openWebhook({ codec }: Pick<Db, 'codec'>, due: DueWebhook): Promise<{ url: string; end: ToldEnd }> {
  const [end] = await openRuns({ codec }, [due.message]);
  const values = await codec.open(THREAD_VALUES, due.message.values);
  return { url: (await codec.open(webhookUrlPlace(due.run_id), due.url)) as string, end: { ...end!, values } };
}

/** `room`: how many more each busy host may get, `each`: any other, `most`: all together. */
export type ClaimWebhooks = {
  worker: string;
  leaseSeconds: number;
  room: Map<string, number>;
  each: number;
  most: number;
  lifeSeconds: number;
};

/** Messages that one statement looks at, so that the many of one host don't hide those of others. */
const LOOKED_AT = 500;

/**
 * Takes messages that are due, the oldest first, so that nobody else sends them before the lease is over. `more`:
 * others may be due that this statement did not look at.
 */
export async function claimWebhooks(
  db: Db,
  { worker, leaseSeconds, room, each, most, lifeSeconds }: ClaimWebhooks,
): Promise<{ claimed: DueWebhook[]; more: boolean }> {
  const claimed = await db.query<DueWebhook & { looked: number }>({
    name: 'webhook_claim',
    text: `with busy as (select * from unnest($3::text[], $4::int[]) b (host, room)),
      looked as (
        select run_id, host, due_at from gx.webhook where due_at <= now() and host <> all(array(select host from busy where room <= 0))
        order by due_at limit ${LOOKED_AT}),
      placed as (select run_id, host, row_number() over (partition by host order by due_at) as place from looked),
      chosen as materialized (
        select w.run_id from placed p left join busy using (host) join gx.webhook w using (run_id)
        where p.place <= coalesce(busy.room, $5) and w.due_at <= now() order by w.due_at limit $6 for update of w skip locked)
      update gx.webhook w set worker = $1, due_at = now() + $2 * interval '1 second' from chosen where w.run_id = chosen.run_id
      returning w.run_id, w.url, w.host, w.attempts, w.message, w.created_at < now() - $7 * interval '1 second' as expired,
        (select count(*) from looked) as looked`,
    values: [worker, leaseSeconds, [...room.keys()], [...room.values()], each, most, lifeSeconds],
  });
  return { claimed, more: (claimed[0]?.looked ?? 0) >= LOOKED_AT };
}

/** What became of an attempt; with `again`, in so many seconds, it is not the last. */
export type WebhookResult = { run_id: string; status: WebhookStatus; again: number | null };

/**
 * Writes what became of attempts: a message that was sent, or given up, is deleted, and the run shows it while there is
 * one.
 */
export async function writeWebhookResults(db: Db, worker: string, results: WebhookResult[]): Promise<void> {
  await db.query({
    name: 'webhook_result',
    text: `with given as materialized (select * from unnest($2::uuid[], $3::jsonb[], $4::float8[]) g (run_id, status, again) order by run_id),
      gone as (delete from gx.webhook w using given g where w.run_id = g.run_id and w.worker = $1 and g.again is null),
      later as (
        update gx.webhook w set attempts = (g.status->>'attempts')::int, worker = null, due_at = now() + g.again * interval '1 second'
        from given g where w.run_id = g.run_id and w.worker = $1 and g.again is not null),
      locked as materialized (
        select r.run_id, g.status from given g, lateral (select run_id from gx.run r where r.run_id = g.run_id for no key update) r)
      update gx.run r set webhook_status = locked.status from locked where r.run_id = locked.run_id`,
    values: [
      worker,
      results.map(({ run_id }) => run_id),
      results.map(({ status }) => JSON.stringify(status)),
      results.map(({ again }) => again),
    ],
  });
}
