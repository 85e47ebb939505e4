import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { runMain, printLine, step } from '../../dev/steps.ts';
import { until } from '../kit/until.ts';
import { startDatabases } from './agent/databases.ts';
import { freePort, startServer, type BenchServer } from './agent/servers.ts';

const HELP = `What an agent server does by itself: how late crons fire, and how fast threads expire beside runs.

Usage: node test/bench/time.ts [options]

  --crons <number>    crons in the database (default 10000)
  --due <number>      those of them that are due within a minute (default 600)
  --at-once           all of these are due at the same instant, not one after the other
  --servers <number>  servers that fire them (default 2)
  --threads <number>  expired threads, each with a run and three checkpoints (default 1000000)
  --only <part>       crons, or expiry
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    crons: { type: 'string', default: '10000' },
    due: { type: 'string', default: '600' },
    'at-once': { type: 'boolean', default: false },
    servers: { type: 'string', default: '2' },
    threads: { type: 'string', default: '1000000' },
    only: { type: 'string' },
  },
});

/** The goals: milliseconds of a cron after its time; lengths of a run without a sweep; threads a second. */
const GOALS = { fired: 250, slower: 1.5, threads: 2000 };
const RUNS_A_SECOND = 20;
/** Seconds before the first sweep, in which runs are measured alone. */
const ALONE = 30;

const at = (times: number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(share * (times.length - 1))] ?? NaN;
const shown = (times: number[]): string =>
  `p50 ${at(times, 0.5).toFixed(0)}, p99 ${at(times, 0.99).toFixed(0)}, most ${at(times, 1).toFixed(0)} ms`;
const verdict = (held: boolean): string => (held ? 'holds' : 'MISSED');

/** Starts a server of a graph that does next to nothing. */
async function serverOf(database: string, settings: object): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-bench-time-'));
  const config = join(folder, 'gx.json');
  writeFileSync(
    config,
    JSON.stringify({
      graphs: { counts: `${resolve('test/crash/graphs/counted.js')}:graph` },
      ...settings,
    }),
  );
  const port = await freePort();
  const env = {
    DATABASE_URI: database,
    GX_CONFIG: config,
    GX_SERVER_PORT: String(port),
    GX_SERVER_HOST: '127.0.0.1',
    GX_LOG_LEVEL: 'warn',
  };
  return startServer({
    command: process.execPath,
    args: ['src/main.ts', 'agent-server'],
    env,
    port,
    health: '/ok',
  });
}

const NOTHING = { left: 1, journal: '/dev/null' };

/** Makes crons, some of which fire soon, and says how long after their time their runs were committed. */
async function crons(database: string): Promise<void> {
  const servers: BenchServer[] = [];
  // One after the other, because the first one prepares the database.
  while (servers.length < Number(values.servers)) servers.push(await serverOf(database, {}));
  const client = new Client({ connectionString: database });
  await client.connect();
  const fired = new Map<string, number>();
  client.on('notification', ({ payload = '' }) => fired.set(payload, Date.now()));
  await client.query(`create function fired() returns trigger language plpgsql as $$
      begin perform pg_notify('fired', new.metadata->>'cron_id'); return null; end $$;
    create trigger fired after insert on gx.run for each row when (new.metadata ? 'cron_id') execute function fired(); listen fired`);
  // Postgres tells of a run when its transaction is committed. Ten seconds are enough to insert them.
  const dueIn = values['at-once']
    ? "interval '20 seconds'"
    : "interval '10 seconds' + n * interval '60 seconds' / $2::int";
  const { rows } = await client.query<{ cron_id: string; due: Date | null }>(
    `insert into gx.cron (cron_id, assistant_id, schedule, next_run_date, payload)
      select gen_random_uuid(), assistant_id, '0 0 1 1 *', case when n <= $2::int then now() + ${dueIn} else now() + interval '1 month' end, $3
      from generate_series(1, $1::int) n, (select assistant_id from gx.assistant limit 1) a
      returning cron_id, case when next_run_date < now() + interval '1 day' then next_run_date end as due`,
    [Number(values.crons), Number(values.due), JSON.stringify({ input: NOTHING })],
  );
  await client.query(`select pg_notify('gx_all', '{"about":"cron"}')`);
  const due = rows.filter((row) => row.due !== null);
  await until('all have fired', () => due.every(({ cron_id }) => fired.has(cron_id)), 95).catch(
    () => undefined,
  );
  await wait(2000);
  const late = due.flatMap(({ cron_id, due: time }) =>
    fired.has(cron_id) ? [fired.get(cron_id)! - time!.getTime()] : [],
  );
  const { rows: twice } = await client.query(
    `select 1 from gx.run group by metadata->>'cron_id' having count(*) > 1`,
  );
  printLine(
    `${values.crons} crons, ${due.length} due${values['at-once'] ? ' at one instant' : ' within a minute'}, ${servers.length} servers: ${late.length} fired, ${twice.length} twice`,
  );
  printLine(
    `after their time: ${shown(late)} (goal: p99 at most ${GOALS.fired}): ${verdict(late.length === due.length && at(late, 0.99) <= GOALS.fired)}`,
  );
  await client.end();
  for (const server of servers) await server.stop();
}

/** The rows that a thread of three checkpoints has, all a year old. */
const THREADS = `
  insert into gx.thread (thread_id, metadata, created_at, updated_at, state_updated_at)
    select gen_random_uuid(), '{"graph_id":"counts"}', now() - interval '1 year', now() - interval '1 year', now() - interval '1 year' from generate_series(1, $N);
  insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, kwargs, multitask_strategy, created_at, due_at)
    select gen_random_uuid(), thread_id, gen_random_uuid(), 'counts', 'success', '{"input":{"left":1}}', 'enqueue', created_at, created_at from gx.thread;
  insert into gx.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
    select thread_id::text, '', 'c' || n, '{"v":4,"channel_versions":{"left":"1"}}', '{"source":"loop"}' from gx.thread, generate_series(1, 3) n;
  insert into gx.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    select thread_id::text, '', 'left', n::text, 'json', '1' from gx.thread, generate_series(1, 3) n;
  analyze`;

/** Makes so many runs a second until the signal, and collects how long each takes. */
async function load(
  { url }: BenchServer,
  times: { began: number; took: number }[],
  signal: AbortSignal,
): Promise<void> {
  const open = new Set<Promise<void>>();
  const one = async (): Promise<void> => {
    const began = Date.now();
    const answer = await fetch(`${url}/runs/wait`, {
      method: 'POST',
      body: JSON.stringify({ assistant_id: 'counts', input: NOTHING }),
    });
    await answer.text();
    times.push({ began, took: Date.now() - began });
  };
  while (!signal.aborted) {
    const run = one().catch(() => undefined);
    open.add(run);
    void run.then(() => open.delete(run));
    await wait(1000 / RUNS_A_SECOND);
  }
  await Promise.all(open);
}

/** Lets threads expire beside runs, and says how fast that goes and what the runs notice. */
async function expiry(database: string): Promise<void> {
  const count = Number(values.threads);
  const client = new Client({ connectionString: database });
  await client.connect();
  const first = await serverOf(database, {});
  await first.stop();
  await step(`${count} threads`, () => client.query(THREADS.replace('$N', String(count))));
  const ttl = { default_ttl: 60, sweep_interval_minutes: ALONE / 60 };
  const server = await serverOf(database, { checkpointer: { ttl } });
  const ready = Date.now();
  const times: { began: number; took: number }[] = [];
  const stop = new AbortController();
  const loaded = load(server, times, stop.signal);
  const left = async (): Promise<number> =>
    Number(
      (
        await client.query<{ left: string }>(
          `select count(*) as left from gx.thread where updated_at < now() - interval '1 day'`,
        )
      ).rows[0]!.left,
    );
  await until('the sweep begins', async () => (await left()) < count, 90);
  const [began, from] = [Date.now(), await left()];
  const end = began + 180_000;
  let rest = from;
  while (rest > 0 && Date.now() < end) {
    await wait(1000);
    rest = await left();
  }
  const seconds = (Date.now() - began) / 1000;
  stop.abort();
  await loaded;
  const alone = times
    .filter((run) => run.began > ready + 5000 && run.began < began - 2000)
    .map(({ took }) => took);
  const beside = times
    .filter((run) => run.began > began && run.began < began + seconds * 1000)
    .map(({ took }) => took);
  const rate = (from - rest) / seconds;
  const slower = at(beside, 0.99) / at(alone, 0.99);
  printLine(
    `${from - rest} of ${count} threads in ${seconds.toFixed(0)} s: ${rate.toFixed(0)} a second (goal ${GOALS.threads}): ${verdict(rate >= GOALS.threads)}`,
  );
  printLine(
    `${RUNS_A_SECOND} runs a second alone: ${shown(alone)}; beside the sweep: ${shown(beside)}`,
  );
  printLine(
    `p99 is ${slower.toFixed(2)} times as long (goal ${GOALS.slower}): ${verdict(slower <= GOALS.slower)}`,
  );
  await client.end();
  await server.stop();
}

async function main(): Promise<void> {
  if (values.help) return printLine(HELP);
  const databases = await startDatabases();
  try {
    if (values.only !== 'expiry') await crons(await databases.fresh());
    if (values.only !== 'crons') await expiry(await databases.fresh());
  } finally {
    await databases.stop();
  }
}

await runMain(main);
