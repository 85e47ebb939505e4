import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* What reports read of the usage of models, and what stays when calls are deleted or a person is erased. */

const PAGE = readFileSync('docs/reference/agent-server/usage.md', 'utf8');
const SUMS = [
  'calls',
  'unreported_calls',
  'unpriced_calls',
  'input_tokens',
  'output_tokens',
  'cost_usd',
];

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/expiry/graphs/gx.json',
    env: { GX_USAGE: 'true', GX_USAGE_KEEP_DAYS: '10' },
  });
});
afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Call = { daysAgo: number; user: string; costNano?: number };

/** Returns a row of a call of 100 tokens into a model and 20 out of it, at noon of a day. */
const buildRow = ({ daysAgo, user, costNano }: Call): string =>
  `(gen_random_uuid(), 'c', gen_random_uuid(), 'old',
    (date_trunc('day', now() at time zone 'UTC') - interval '${daysAgo} days' + interval '12 hours') at time zone 'UTC',
    1500, 'ok', false, true, 100, 20, '${user}', 'm', ${costNano ?? 'null'})`;

/** Writes calls in one statement: a day that has sums takes no more calls. */
const insertCalls = (calls: Call[]): Promise<unknown> =>
  database.sql(`insert into gx.model_call (run_id, call_id, thread_id, graph_id, started_at, milliseconds, status,
    cached, reported, input, output, user_id, model, cost_nano) values ${calls.map(buildRow).join(', ')}`);

/** Returns the columns that the page names for a view. */
function listDescribedColumns(view: string): string[] {
  const row = PAGE.split('\n').find((line) => line.startsWith(`| \`${view}\` | `));
  const own = [...(row?.split('|')[3] ?? '').replaceAll(/\([^)]*\)/g, '').matchAll(/`(\w+)`/g)];
  return [...own.map(([, name]) => name!), ...(view === 'model_calls' ? [] : SUMS)];
}

test('the page describes each column of each view', async () => {
  const columns = await database.sql<{ view: string; names: string[] }>(
    `select table_name as view, array_agg(column_name::text) as names from information_schema.columns
      where table_schema = 'gx_report' group by 1 order by 1`,
  );
  expect(columns.map(({ view }) => view)).toEqual([
    'assistants',
    'days',
    'model_calls',
    'runs',
    'threads',
    'users',
  ]);
  expect(
    columns.map(({ view }) => ({ view, names: listDescribedColumns(view).toSorted() })),
  ).toEqual(columns.map(({ view, names }) => ({ view, names: names.toSorted() })));
});

describe('days', () => {
  beforeAll(async () => {
    await insertCalls([
      ...[0, 1, 2, 9, 20].map((daysAgo) => ({ daysAgo, user: 'ann', costNano: 2_000_000 })),
      { daysAgo: 20, user: 'bob' },
    ]);
    // The sweep comes some times a second here.
    await until('old calls are deleted', async () => {
      const left = await database.sql(`select 1 from gx.model_call where graph_id = 'old'`);
      return left.length === 4 ? true : undefined;
    });
  });

  const sumDays = (): Promise<object[]> =>
    database.sql(`select (now() at time zone 'UTC')::date - day as ago, calls::int, unpriced_calls::int as unpriced,
        input_tokens::int as input, output_tokens::int as output, cost_usd::float8 as cost
      from gx_report.users where user_id = 'ann' order by day desc`);

  test('have all calls once, before and after they are summed and deleted', async () => {
    const day = { calls: 1, unpriced: 0, input: 100, output: 20, cost: 0.002 };
    expect(await sumDays()).toEqual([0, 1, 2, 9, 20].map((ago) => ({ ago, ...day })));
    const summed = await database.sql('select 1 from gx.usage_day');
    // Those of the days before yesterday: of 20 days ago there are two users.
    expect(summed).toHaveLength(4);
  });

  test('whose calls have no price cost null, not 0', async () => {
    expect(
      await database.sql(
        `select calls::int, unpriced_calls::int as unpriced, cost_usd from gx_report.users where user_id = 'bob'`,
      ),
    ).toEqual([{ calls: 1, unpriced: 1, cost_usd: null }]);
  });

  test('a person is erased from calls and sums, which stay', async () => {
    const forget = (body: object): Promise<Response> =>
      fetch(`${agent.url}/usage/forget`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const [before] = await database.sql('select sum(calls)::int as calls from gx_report.days');
    expect(await (await forget({ user_id: 'ann' })).json()).toEqual({ calls: 4 });
    expect(await sumDays()).toEqual([]);
    expect(await database.sql('select sum(calls)::int as calls from gx_report.days')).toEqual([
      before,
    ]);
    expect(await (await forget({ user_id: 'ann' })).json()).toEqual({ calls: 0 });
    // The day on which both had calls has one row, which a new price reaches.
    expect(await (await forget({ user_id: 'bob' })).json()).toEqual({ calls: 0 });
    expect(
      await database.sql(`select calls::int, unpriced::int, cost_nano::int as nano from gx.usage_day
        where day = (now() at time zone 'UTC')::date - 20`),
    ).toEqual([{ calls: 2, unpriced: 1, nano: 2_000_000 }]);
    const refused = await forget({ user: 'ann' });
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain('user_id');
  });
});

test('a login for reports, made as the page says, reads the views and nothing else', async () => {
  const [, script = ''] = /makes a login that can read nothing else:\n\n```sql\n([^`]+)```/.exec(
    PAGE,
  )!;
  const name = `reports_${Date.now()}`;
  const admin = new URL(inject('postgres'));
  admin.pathname = new URL(database.uri).pathname;
  const superuser = new Client(admin.href);
  await superuser.connect();
  await superuser.query(script.replaceAll('reports', name));
  const uri = new URL(database.uri);
  uri.username = name;
  uri.password = '...';
  const client = new Client(uri.href);
  await client.connect();
  try {
    for (const view of ['assistants', 'days', 'model_calls', 'runs', 'threads', 'users'])
      await client.query(`select * from gx_report.${view} limit 1`);
    const [, query = ''] = /```sql\n(select [^`]+)```/.exec(PAGE)!;
    await client.query(query);
    const tables = await database.sql<{ name: string }>(
      `select schemaname || '.' || quote_ident(tablename) as name from pg_tables where schemaname in ('gx', 'pgboss')`,
    );
    expect(tables.length).toBeGreaterThan(10);
    for (const table of tables)
      await expect(client.query(`select 1 from ${table.name}`)).rejects.toThrow(
        'permission denied',
      );
    await expect(client.query('delete from gx_report.runs')).rejects.toThrow('permission denied');
  } finally {
    await client.end();
    await superuser.query(`drop owned by ${name}; drop role ${name}`);
    await superuser.end();
  }
});
