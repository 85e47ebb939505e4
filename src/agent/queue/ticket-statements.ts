import { createHash } from 'node:crypto';

/*
 * The two statements that are ours and not pg-boss's: a run and its ticket are stored by one, and tickets and their
 * runs are claimed by one, which saves a round trip each. pg-boss offers no text of its own for that. They read and
 * write its table `pgboss.job` as its `insert` and `fetch` do for a queue of policy `standard`, whose jobs have neither
 * groups nor keys. test/agent/queue/tickets.test.ts compares the rows of both, so a version that writes others is
 * noticed.
 */

/**
 * A statement of the queue as a part of another one: its text, with its parameters from a given one on, and its values.
 * `name` is the same for the same text only.
 */
export type QueuePart = { name: string; sql: (parameter: number) => string; values: unknown[] };

export type WaitingRun = { run_id: string; thread_id: string; after_seconds?: number };

/** The life of a ticket: how often it is delivered again, and after how many seconds it expires and is deleted. */
export type TicketLife = {
  retryLimit: number;
  expireInSeconds: number;
  deleteAfterSeconds: number;
};

/** Seconds for which pg-boss keeps a job that nobody takes, from the moment on from which it may be taken. */
const KEEP_SECONDS = 1_209_600;

/** Returns a short name for a text. Postgres cuts off longer ones. */
export const hashName = (text: string): string =>
  createHash('sha1').update(text).digest('base64url').slice(0, 12);

/** Builds the insert of tickets into a queue. It has one parameter. */
export function buildTicketInsert(
  queue: string,
  { retryLimit, expireInSeconds, deleteAfterSeconds }: TicketLife,
  runs: readonly WaitingRun[],
): QueuePart {
  const formatSql = (parameter: number): string =>
    `insert into pgboss.job (name, data, start_after, keep_until, policy, retry_limit, expire_seconds, deletion_seconds)
      select '${queue}', t.data, now() + t.after, now() + t.after + interval '${KEEP_SECONDS} seconds', 'standard', ${retryLimit}, ${expireInSeconds}, ${deleteAfterSeconds}
      from json_to_recordset($${parameter}::text::json) as t (data jsonb, after interval)`;
  const jobs = runs.map(({ run_id, thread_id, after_seconds = 0 }) => ({
    data: { run_id, thread_id },
    after: `${after_seconds} seconds`,
  }));
  return { name: hashName(formatSql(1)), sql: formatSql, values: [JSON.stringify(jobs)] };
}

/** Builds the claim of at most so many due tickets, which returns their `id` and `data`. It has no parameter. */
export function buildTicketClaim(queue: string, limit: number): QueuePart {
  const text = `with next as materialized (
        select id from pgboss.job
        where name = '${queue}' and state < 'active' and not blocked and start_after <= now()
        order by priority desc, created_on limit ${limit} for update skip locked
      )
      update pgboss.job j set state = 'active', started_on = now(), heartbeat_on = now(),
        retry_count = case when started_on is null then retry_count else retry_count + 1 end
      from next where j.name = '${queue}' and j.id = next.id returning j.id, j.data`;
  return { name: hashName(text), sql: () => text, values: [] };
}
