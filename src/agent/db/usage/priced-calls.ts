import type { TokenCounts } from '../../../schema/wire/wall/model-call.ts';
import type { Db } from '../base/pool.ts';
import { SUMS_OF_RUN } from './model-calls.ts';

/* This file reads recorded calls for their prices, and writes other prices into them and into all sums. */

/** A call that has tokens and whose provider has reported no price. */
export type StoredPrice = {
  run_id: string;
  call_id: string;
  provider: string | null;
  model: string | null;
  started_at: Date;
  tokens: TokenCounts;
  /** Billionths of a US dollar. */
  cost_nano: number | null;
  cost_from: string | null;
};

/** The key of the last call that was read. */
export type CallKey = { run_id: string; call_id: string };

/** Returns calls since a time, in the order of their keys, behind that key. */
export async function loadCallsToPrice(
  db: Db,
  since: Date,
  { after, limit }: { after: CallKey | undefined; limit: number },
): Promise<StoredPrice[]> {
  const rows = await db.query<StoredPrice>({
    text: `select run_id, call_id, provider, model, started_at, cost_nano::float8 as cost_nano, cost_from,
        json_build_object('input', input, 'output', output, 'cache_read', cache_read, 'cache_write', cache_write,
          'cache_write_1h', cache_write_1h, 'reasoning', reasoning, 'audio_in', audio_in, 'audio_out', audio_out) as tokens
      from gx.model_call
      where started_at >= $1 and reported and not cached and cost_from is distinct from 'provider'
        and ($2::uuid is null or (run_id, call_id) > ($2, $3)) order by run_id, call_id limit $4`,
    values: [since, after?.run_id ?? null, after?.call_id ?? null, limit],
  });
  return rows.map((row) => ({ ...row, started_at: new Date(row.started_at) }));
}

export type NewPrice = CallKey & { nano: number | null; from: string | null };

/** Writes prices into calls, and the sums of their runs. */
export async function writePrices(tx: Db, prices: NewPrice[]): Promise<void> {
  await tx.query({
    text: `update gx.model_call c set cost_nano = p.nano, cost_from = p.source
      from unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[]) p (run_id, call_id, nano, source)
      where c.run_id = p.run_id and c.call_id = p.call_id`,
    values: [
      prices.map(({ run_id }) => run_id),
      prices.map(({ call_id }) => call_id),
      prices.map(({ nano }) => nano),
      prices.map(({ from }) => from),
    ],
  });
  await tx.query({
    text: `update gx.run r set usage = ${SUMS_OF_RUN} where r.run_id = any($1) and r.usage is not null`,
    values: [[...new Set(prices.map(({ run_id }) => run_id))]],
  });
}

/**
 * Brings the prices of summed days up to date, from the day `since` on. The sums of a day that has lost calls stay as
 * they are, which their number shows.
 */
export async function updateSummedPrices(db: Db, since: Date): Promise<void> {
  await db.query({
    text: `with s as (
        select (started_at at time zone 'UTC')::date as day, assistant_id, graph_id, user_id, revision, provider, model,
          count(*) as calls, count(*) filter (where cost_nano is null) as unpriced, sum(cost_nano) as cost_nano
        from gx.model_call where started_at >= $1 group by 1, 2, 3, 4, 5, 6, 7)
      update gx.usage_day d set unpriced = s.unpriced, cost_nano = s.cost_nano from s
      where d.day = s.day and d.calls = s.calls and d.graph_id = s.graph_id
        and (d.assistant_id, d.user_id, d.revision, d.provider, d.model)
          is not distinct from (s.assistant_id, s.user_id, s.revision, s.provider, s.model)`,
    values: [since],
  });
}
