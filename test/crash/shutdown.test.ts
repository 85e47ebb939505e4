import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { until } from '../kit/until.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { api as startApi, pidOf, say, worker as startWorker } from './fleet.ts';
import { byRun, movesOf, openJournal, seconds } from './journal.ts';

/* Workers are told to stop, jobs come twice, and runs leave their worker no processor time. */

let database: TestDatabase;
let api: AgentProcess;
const journal = openJournal();

beforeAll(async () => {
  database = await freshDatabase();
  api = await startApi({ database: database.uri });
});

afterAll(async () => {
  await api.kill();
  await database.drop();
});

type Row = { run_id: string; status: string; attempt: number; lost: number };

async function create(input: object): Promise<{ thread_id: string; run_id: string }> {
  const { thread_id } = await api.client.threads.create();
  return api.client.runs.create(thread_id, 'counted', {
    input: { journal: journal.file, ...input },
    durability: 'sync',
  });
}

async function over(ids: string[]): Promise<Row[]> {
  const rows = await until('the runs are over', async () => {
    const found = await database.sql<Row>(
      'select run_id, status, attempt, lost from gx.run where run_id = any($1)',
      [ids],
    );
    return found.every(({ status }) => status !== 'pending' && status !== 'running') && found;
  });
  expect(rows).toHaveLength(ids.length);
  return rows;
}

test('SIGTERM under load: short runs finish in the grace, the others go on elsewhere and lose no life', async () => {
  const env = { GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS: '2', N_JOBS_PER_WORKER: '20' };
  const first = await startWorker({ database: database.uri, env });
  // The runs take half a minute, so they outlast the start of the second worker, however busy the machine is.
  const long = await Promise.all(
    Array.from({ length: 10 }, () => create({ left: 20, pause: 1500 })),
  );
  const short = await Promise.all(
    Array.from({ length: 10 }, () => create({ left: 3, pause: 200 })),
  );
  await until('all are at work', () => byRun(journal.lines()).size === 20);
  const second = await startWorker({ database: database.uri, env });
  const asked = Date.now();
  expect(await first.kill('SIGTERM')).toBe(0);
  say(
    `a worker with 20 runs and 2 s of grace was gone after ${((Date.now() - asked) / 1000).toFixed(1)} s`,
  );
  const ids = [...long, ...short].map(({ run_id }) => run_id);
  for (const row of await over(ids)) expect(row).toMatchObject({ status: 'success', lost: 0 });
  const lines = byRun(journal.lines());
  for (const { run_id } of short)
    expect(new Set(lines.get(run_id)?.map(({ pid }) => pid))).toEqual(new Set([pidOf(first)]));
  const moves = long.flatMap(({ run_id }) => movesOf(lines.get(run_id) ?? []));
  expect(moves).toHaveLength(long.length);
  for (const { from, to } of moves) expect([from.left, from.left - 1]).toContain(to.left);
  say(
    `handed back runs went on elsewhere after: ${seconds(moves.map(({ from, to }) => to.at - from.at))} (since their last step)`,
  );
  await second.kill('SIGKILL');
}, 120_000);

test('a job that is delivered twenty times to two workers is executed once', async () => {
  const workers = await Promise.all([
    startWorker({ database: database.uri }),
    startWorker({ database: database.uri }),
  ]);
  const jobs = await Promise.all(Array.from({ length: 10 }, () => create({ left: 3, pause: 50 })));
  const again = `insert into pgboss.job (name, data)
    select 'runs', jsonb_build_object('run_id', r.run_id, 'thread_id', r.thread_id) from gx.run r, generate_series(1, 20) where r.run_id = any($1)`;
  const ids = jobs.map(({ run_id }) => run_id);
  await database.sql(again, [ids]);
  await over(ids);
  await database.sql(again, [ids]);
  await until(
    'every job was looked at',
    async () => (await database.sql('select 1 from pgboss.job')).length === 0,
  );
  for (const id of ids) expect(journal.of(id).map(({ left }) => left)).toEqual([3, 2, 1]);
  await Promise.all(workers.map((one) => one.kill('SIGKILL')));
}, 120_000);

test('a run that eats the processor does not make its worker look dead', async () => {
  const env = { GX_JOB_LEASE_SECS: '3' };
  const workers = await Promise.all([
    startWorker({ database: database.uri, env }),
    startWorker({ database: database.uri, env }),
  ]);
  // Each step spins without yielding for three times the lease.
  const run = await create({ left: 2, spin: 9000 });
  expect(await over([run.run_id])).toMatchObject([{ status: 'success', attempt: 1, lost: 0 }]);
  expect(new Set(journal.of(run.run_id).map(({ pid }) => pid)).size).toBe(1);
  await Promise.all(workers.map((one) => one.kill('SIGKILL')));
}, 120_000);
