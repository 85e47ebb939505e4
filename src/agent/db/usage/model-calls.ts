import { NO_TOKENS, type ModelCall } from '../../../schema/wire/wall/model-call.ts';
import type { RecordedCall, UsageGroup, UsageRow, UsageSums } from '../../../schema/agent/usage.ts';
import type { UsageOfDay } from '../../../schema/wire/reported-usage.ts';
import { NANO_PER_USD } from '../../prices/compute-cost.ts';
import { buildRowsSql } from '../base/plans.ts';
import { forgetAccounts, SETTLE_CALLS } from '../budgets/accounts.ts';
import type { Database, Db } from '../base/pool.ts';

/* This file keeps the calls of models, and sums them. Names and counts stay as they are in an encrypted database. */

/** A call with the facts of its run. */
export type StoredCall = ModelCall & {
  run_id: string;
  thread_id: string;
  assistant_id: string | null;
  graph_id: string;
  revision: string | null;
  user_id: string | null;
  /** Billionths of a US dollar, and where that is from. */
  cost: { nano: number; from: string } | undefined;
};

const COLUMNS: Record<string, string> = {
  run_id: 'uuid',
  call_id: 'text',
  thread_id: 'uuid',
  assistant_id: 'uuid',
  graph_id: 'text',
  revision: 'text',
  user_id: 'text',
  node: 'text',
  ns: 'text',
  provider: 'text',
  model: 'text',
  asked: 'text',
  tier: 'text',
  started_at: 'timestamptz',
  milliseconds: 'integer',
  status: 'text',
  cached: 'boolean',
  reported: 'boolean',
  input: 'integer',
  output: 'integer',
  cache_read: 'integer',
  cache_write: 'integer',
  cache_write_1h: 'integer',
  reasoning: 'integer',
  audio_in: 'integer',
  audio_out: 'integer',
  cost_nano: 'bigint',
  cost_from: 'text',
};
const NAMES = Object.keys(COLUMNS);

const INSERT = `insert into gx.model_call (${NAMES.join(', ')}) select ${NAMES.join(', ')} from ${buildRowsSql(COLUMNS, 'c')}
  on conflict do nothing`;

const INSERT_SETTLING = `with c as (${INSERT} returning run_id, call_id, cost_nano, cached, reported, status, input, output, cache_read),
  ${SETTLE_CALLS}`;

/** Writes calls. One that is there already stays as it is. `settles`: budgets count them. */
export async function insertModelCalls(
  db: Db,
  calls: StoredCall[],
  settles = false,
): Promise<void> {
  const rows = calls.map(buildRow);
  await db.query({
    ...(settles
      ? { name: 'model_call_insert_settling', text: INSERT_SETTLING }
      : { name: 'model_call_insert', text: INSERT }),
    values: NAMES.map((name) => rows.map((row) => row[name] ?? null)),
  });
}

function buildRow({ id, start, tokens, cost, ...call }: StoredCall): Record<string, unknown> {
  return {
    ...call,
    call_id: id,
    started_at: new Date(start),
    cached: call.cached === true,
    reported: tokens !== undefined,
    ...NO_TOKENS,
    ...tokens,
    cost_nano: cost?.nano,
    cost_from: cost?.from,
  };
}

const SUMS = `count(*)::int as calls, (count(*) filter (where status <> 'ok'))::int as failed,
  (count(*) filter (where cached))::int as cached, (count(*) filter (where not reported))::int as unreported,
  (count(*) filter (where cost_nano is null))::int as unpriced,
  coalesce(sum(input), 0)::float8 as input, coalesce(sum(output), 0)::float8 as output,
  coalesce(sum(cache_read), 0)::float8 as cache_read,
  coalesce(sum(cache_write::bigint + cache_write_1h), 0)::float8 as cache_write,
  coalesce(sum(reasoning), 0)::float8 as reasoning, (sum(cost_nano) / ${NANO_PER_USD}.0)::float8 as cost_usd`;

/** Models that sums name at most, of those that report no tokens. */
const MOST_MODELS = 10;

/** The sums of a run or a thread, with the names of models that report no tokens. */
const NAMED_SUMS = `${SUMS}, coalesce((array_agg(distinct model) filter
    (where not reported and status = 'ok' and model is not null))[1:${MOST_MODELS}], '{}') as unreported_models`;

/** The sums of the calls of a run `r`, as JSON. Null where there is none. */
export const SUMS_OF_RUN = `(select to_jsonb(s) from (select ${NAMED_SUMS} from gx.model_call c where c.run_id = r.run_id having count(*) > 0) s)`;

const GROUPS: Record<UsageGroup, string> = {
  day: `to_char(started_at at time zone 'UTC', 'YYYY-MM-DD')`,
  assistant: 'assistant_id::text',
  graph: 'graph_id',
  user: 'user_id',
  revision: 'revision',
  provider: 'provider',
  model: 'model',
  node: 'node',
};

type Asked = { from: Date; to: Date; groups: UsageGroup[]; limit: number; offset: number };

/** Sums the calls of a time by groups, in their order, and one group more than asked for where there is one. */
export function sumUsage(db: Db, { from, to, groups, limit, offset }: Asked): Promise<UsageRow[]> {
  const columns = groups.map((group) => `${GROUPS[group]} as "${group}"`);
  const order = groups.map((_, at) => String(at + 1)).join(', ');
  const by = groups.length === 0 ? '' : `group by ${order} order by ${order}`;
  return db.query<UsageRow>({
    text: `select ${[...columns, SUMS].join(', ')} from gx.model_call
      where started_at >= $1 and started_at < $2 ${by} limit $3 offset $4`,
    values: [from, to, limit + 1, offset],
  });
}

/** Sums the calls of a thread. */
export async function sumThreadUsage(db: Db, threadId: string): Promise<UsageSums> {
  const [sums] = await db.query<UsageSums>({
    name: 'thread_usage',
    text: `select ${NAMED_SUMS} from gx.model_call where thread_id = $1`,
    values: [threadId],
  });
  return sums!;
}

/** Returns the last calls of a thread, the last one first. */
export function listThreadCalls(db: Db, threadId: string, limit: number): Promise<RecordedCall[]> {
  return db.query<RecordedCall>({
    name: 'thread_calls',
    text: `select call_id, run_id, node, provider, model, to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as started_at,
        milliseconds / 1000.0::float8 as seconds, status, cached, reported, input, output, cache_read,
        (cost_nano / ${NANO_PER_USD}.0)::float8 as cost_usd
      from gx.model_call where thread_id = $1 order by gx.model_call.started_at desc, call_id limit $2`,
    values: [threadId, limit],
  });
}

/** Returns a sum that a number of JavaScript holds exactly. */
const limitSum = (sum: string): string => `least(${sum}, ${Number.MAX_SAFE_INTEGER})::float8`;

/** Sums the calls that began from a time on, and before another one, by days of UTC. */
export function sumUsageByDay(db: Db, from: Date, to: Date | undefined): Promise<UsageOfDay[]> {
  return db.query<UsageOfDay>({
    name: 'usage_by_day',
    text: `select ${GROUPS.day} as day, count(*)::int as calls, (count(*) filter (where not reported))::int as unreported,
        (count(*) filter (where cost_nano is null))::int as unpriced, ${limitSum('sum(input)')} as input,
        ${limitSum('sum(cache_read)')} as cache_read, ${limitSum('sum(output)')} as output,
        ${limitSum('sum(cost_nano)')} as cost_nano
      from gx.model_call where started_at >= $1 and started_at < coalesce($2::timestamptz, 'infinity') group by 1`,
    values: [from, to ?? null],
  });
}

/** The beginning of the first day that has no sums yet. */
const UNSUMMED = `(select coalesce(max(day) + 1, '-infinity')::timestamp at time zone 'UTC' from gx.usage_day)`;

/**
 * Sums the calls of the days before yesterday that have no sums yet: by then every call of such a day is written.
 * Returns the number of groups.
 */
export function sumWholeDays(db: Database): Promise<number> {
  return db.transaction(async (tx) => {
    // Another process that comes at the same time finds the days summed.
    await tx.query({ text: 'lock table gx.usage_day in share row exclusive mode', values: [] });
    const rows = await tx.query({
      text: `insert into gx.usage_day
          select (started_at at time zone 'UTC')::date, assistant_id, graph_id, user_id, revision, provider, model,
            count(*), count(*) filter (where status <> 'ok'), count(*) filter (where cached),
            count(*) filter (where not reported), count(*) filter (where cost_nano is null), sum(input), sum(output),
            sum(cache_read), sum(cache_write::bigint + cache_write_1h), sum(reasoning), sum(cost_nano)
          from gx.model_call where started_at >= ${UNSUMMED}
            and started_at < (date_trunc('day', now() at time zone 'UTC') - interval '1 day') at time zone 'UTC'
          group by 1, 2, 3, 4, 5, 6, 7 returning 1`,
      values: [],
    });
    return rows.length;
  });
}

/** The rows of days that are gone, without a user: one for each key. */
const DAYS_OF_NOBODY = `select day, assistant_id, graph_id, null, revision, provider, model, sum(calls), sum(failed),
    sum(cached), sum(unreported), sum(unpriced), sum(input), sum(output), sum(cache_read), sum(cache_write),
    sum(reasoning), sum(cost_nano)
  from gone group by day, assistant_id, graph_id, revision, provider, model`;

/** Removes a user from all calls and sums, which stay without one. Returns the number of calls. */
export function forgetUser(db: Database, user: string): Promise<number> {
  return db.transaction(async (tx) => {
    // The sums of a day join those of nobody, so that a key has one row, whose prices can be brought up to date.
    await tx.query({ text: 'lock table gx.usage_day in share row exclusive mode', values: [] });
    await tx.query({
      text: `with gone as (
          delete from gx.usage_day d where d.user_id = $1 or (d.user_id is null and exists (
            select 1 from gx.usage_day o where o.user_id = $1 and o.day = d.day and o.graph_id = d.graph_id
              and (o.assistant_id, o.revision, o.provider, o.model)
                is not distinct from (d.assistant_id, d.revision, d.provider, d.model)))
          returning d.*)
        insert into gx.usage_day ${DAYS_OF_NOBODY}`,
      values: [user],
    });
    await forgetAccounts(tx, user);
    const rows = await tx.query({
      text: 'update gx.model_call set user_id = null where user_id = $1 returning 1',
      values: [user],
    });
    return rows.length;
  });
}

/** Deletes calls that began so many days ago and are in the sums of their day. Returns how many, at most `limit`. */
export async function deleteOldCalls(db: Db, days: number, limit: number): Promise<number> {
  const rows = await db.query({
    name: 'model_call_expire',
    text: `delete from gx.model_call where (run_id, call_id) in (
      select run_id, call_id from gx.model_call where started_at < least(now() - $1 * interval '1 day', ${UNSUMMED}) limit $2) returning 1`,
    values: [days, limit],
  });
  return rows.length;
}
