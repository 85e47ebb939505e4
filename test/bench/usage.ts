import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { runMain } from '../../dev/steps.ts';
import { applyMigrations } from '../../src/agent/db/migrate.ts';
import { openDatabase, type Database } from '../../src/agent/db/base/pool.ts';
import { sumWholeDays } from '../../src/agent/db/usage/model-calls.ts';
import { startPostgres } from '../../src/agent/dev/embedded-postgres/start.ts';
import { silentLog } from '../kit/log.ts';
import { quantile, Table } from './operator/table.ts';

const HELP = `Reports of the usage of models over a database with many calls: what a dashboard waits for.

Usage: node test/bench/usage.ts [options]

  --calls COUNT   calls of models in 90 days, three for each run (3,000,000)
  --users COUNT   users, each of whom asks one of 20 assistants, which have two models each (500)
  --rounds COUNT  readings of each report (10)
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    calls: { type: 'string', default: '3000000' },
    users: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '10' },
  },
});
const CALLS = Number(values.calls);
const USERS = Number(values.users);
const ROUNDS = Number(values.rounds);

/** Three calls for each run, in the order in which runs come. */
const FILL = `insert into gx.model_call (run_id, call_id, thread_id, assistant_id, graph_id, user_id, provider, model,
    started_at, milliseconds, status, cached, reported, input, output, cost_nano)
  select ('00000000-0000-4000-8000-' || lpad(to_hex(n / 3), 12, '0'))::uuid, 'call-' || n % 3,
    ('00000000-0000-4000-9000-' || lpad(to_hex(n / 30), 12, '0'))::uuid,
    ('00000000-0000-4000-a000-' || lpad((n / 30 % $2::int % 20)::text, 12, '0'))::uuid, 'agent', 'user-' || n / 30 % $2,
    'openai', 'model-' || n % 2, now() - interval '90 days' + n * (interval '90 days' / $1::int), 1500, 'ok', false, true,
    1000, 200, 3600000
  from generate_series(0, $1 - 1) n`;

type Report = { name: string; goalMs: number; text: string };

const REPORTS: Report[] = [
  {
    name: "yesterday's price of each assistant",
    goalMs: 1000,
    text: `select assistant_id, cost_usd from gx_report.assistants where day = (now() at time zone 'UTC')::date - 1`,
  },
  {
    name: 'the price of each day of a year',
    goalMs: 100,
    text: 'select day, sum(cost_usd) from gx_report.days where day > current_date - 365 group by day',
  },
  {
    name: 'the ten dearest users of 30 days',
    goalMs: 1000,
    text: `select user_id, sum(cost_usd) as cost from gx_report.users where day > current_date - 30
      group by user_id order by cost desc limit 10`,
  },
];

async function measure(db: Database, { name, goalMs, text }: Report, table: Table): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    await db.query({ text, values: [] });
    times.push(performance.now() - began);
  }
  const [median, worst] = [quantile(times, 0.5), Math.max(...times)];
  table.row(
    `${name} (median, worst of ${ROUNDS})`,
    `${median.toFixed(1)}, ${worst.toFixed(1)} ms`,
    {
      says: `at most ${goalMs} ms`,
      met: median <= goalMs,
    },
  );
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const folder = mkdtempSync(join(tmpdir(), 'gx-bench-usage-'));
  const server = await startPostgres({ folder, owner: 'a benchmark', durable: false });
  const db = openDatabase(
    { uri: server.uri, poolSize: 2, statementTimeoutSeconds: 600, name: 'bench' },
    silentLog(),
  );
  const table = new Table();
  try {
    await applyMigrations(db);
    await db.query({ text: FILL, values: [CALLS, USERS] });
    await db.query({ text: 'vacuum analyze gx.model_call', values: [] });
    const began = performance.now();
    const groups = await sumWholeDays(db);
    table.title(`${CALLS} calls of models by ${USERS} users`);
    table.row(
      `summed by days, once (${groups} groups)`,
      `${((performance.now() - began) / 1000).toFixed(1)} s`,
    );
    await db.query({ text: 'analyze gx.usage_day', values: [] });
    for (const report of REPORTS) await measure(db, report, table);
  } finally {
    await db.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(table.toString());
  if (table.missed > 0) process.exitCode = 1;
}

await runMain(main);
