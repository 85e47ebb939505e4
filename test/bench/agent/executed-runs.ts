import { Client, type QueryResultRow } from 'pg';

/* What a server's database says of the runs that it executed. */

type Query = <R extends QueryResultRow>(text: string, values?: unknown[]) => Promise<R[]>;

/** Connects to a server's database for a moment. */
export async function withDatabase<T>(uri: string, work: (query: Query) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: uri });
  await client.connect();
  try {
    return await work(
      async <R extends QueryResultRow>(text: string, values: unknown[] = []) =>
        (await client.query<R>(text, values)).rows,
    );
  } finally {
    await client.end();
  }
}

/** Returns the most runs that were executed at the same time, of those that started after `since`. */
export async function mostAtOnce(query: Query, since: Date): Promise<number> {
  const [row] = await query<{ most: number | null }>(
    `select max(now_running)::int as most from (
      select sum(change) over (order by at, change) as now_running from (
        select started_at as at, 1 as change from gx.run where started_at >= $1 union all
        select ended_at, -1 from gx.run where started_at >= $1 and ended_at is not null) changes) sums`,
    [since],
  );
  return row?.most ?? 0;
}
