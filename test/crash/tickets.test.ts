import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { until } from '../kit/until.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { api as startApi, pidOf, worker as startWorker } from './fleet.ts';
import { openJournal } from './journal.ts';

/* Workers are killed between a ticket and its run: while they claim, when they have claimed, before it is deleted. */

/** The numbers of the locks at which the database stops a worker's statement. */
const CLAIM = 1;
const DELETION = 2;

const STOPS = `
  create function stop_at() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint); return coalesce(new, old); end $$;
  create trigger stop_claim before update on gx.run for each row
    when (old.status = 'pending' and new.status = 'running') execute function stop_at(${CLAIM});
  create trigger stop_deletion before delete on pgboss.job_common for each row execute function stop_at(${DELETION});`;

let database: TestDatabase;
let api: AgentProcess;
let gate: Client;
const journal = openJournal();

beforeAll(async () => {
  database = await freshDatabase();
  await database.sql(STOPS);
  api = await startApi({ database: database.uri });
  gate = new Client({ connectionString: database.uri });
  await gate.connect();
});

afterAll(async () => {
  await gate.end();
  await api.kill();
  await database.drop();
});

const shut = (lock: number): Promise<unknown> => gate.query('select pg_advisory_lock($1)', [lock]);
const open = (lock: number): Promise<unknown> =>
  gate.query('select pg_advisory_unlock($1)', [lock]);

/** Returns the backend whose statement was stopped. */
const stopped = (): Promise<number> =>
  until('a statement is stopped', async () => {
    const rows = await database.sql<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`,
    );
    return rows[0]?.pid;
  });

/** Kills a worker; its statement goes with it, as if the death came before the database read of it. */
async function killWith(worker: AgentProcess, backend: number): Promise<void> {
  await worker.kill('SIGKILL');
  await database.sql('select pg_terminate_backend($1)', [backend]);
  await until(
    'the statement is gone',
    async () =>
      (await database.sql('select 1 from pg_stat_activity where pid = $1', [backend])).length === 0,
  );
}

async function create(input: object): Promise<{ thread_id: string; run_id: string }> {
  const { thread_id } = await api.client.threads.create();
  return api.client.runs.create(thread_id, 'counted', {
    input: { journal: journal.file, ...input },
    durability: 'sync',
  });
}

type Row = { status: string; attempt: number; lost: number; worker: string | null };

const over = async ({ run_id }: { run_id: string }): Promise<Row> =>
  until('the run is over', async () => {
    const [row] = await database.sql<Row>(
      'select status, attempt, lost, worker from gx.run where run_id = $1',
      [run_id],
    );
    return row?.status !== 'pending' && row?.status !== 'running' && row;
  });

const states = async (): Promise<string[]> =>
  (await database.sql<{ state: string }>('select state from pgboss.job')).map(({ state }) => state);

test('a worker that dies in its claim leaves ticket and run as they were, for the next worker', async () => {
  const first = await startWorker({ database: database.uri });
  await shut(CLAIM);
  const run = await create({ left: 2, pause: 10 });
  await killWith(first, await stopped());
  expect(await states()).toEqual(['created']);
  await open(CLAIM);
  const second = await startWorker({ database: database.uri });
  expect(await over(run)).toMatchObject({ status: 'success', attempt: 1, lost: 0 });
  expect(journal.of(run.run_id).map(({ left }) => left)).toEqual([2, 1]);
  await until('the ticket is gone', async () => (await states()).length === 0);
  await second.kill('SIGKILL');
});

test('a worker that dies before it hears that it has a run loses no life of the run', async () => {
  const first = await startWorker({ database: database.uri });
  await shut(CLAIM);
  const run = await create({ left: 2, pause: 10 });
  await stopped();
  await first.kill('SIGKILL');
  await open(CLAIM);
  await until('it is claimed', async () => (await states()).includes('active'));
  const second = await startWorker({ database: database.uri });
  expect(await over(run)).toMatchObject({ status: 'success', attempt: 2, lost: 0 });
  expect(journal.of(run.run_id).map(({ left }) => left)).toEqual([2, 1]);
  await second.kill('SIGKILL');
});

test('a run waits for no ticket to be deleted, and a worker that dies before leaves one that nobody takes again', async () => {
  await database.sql('truncate pgboss.job_common');
  const first = await startWorker({ database: database.uri });
  await shut(DELETION);
  const run = await create({ left: 2, pause: 10 });
  const backend = await stopped();
  expect(await over(run)).toMatchObject({ status: 'success', attempt: 1 });
  const long = await create({ left: 4, pause: 1000 });
  await until('the other one is at work', () => journal.of(long.run_id).length > 0);
  await killWith(first, backend);
  await open(DELETION);
  const second = await startWorker({ database: database.uri });
  expect(await over(long)).toMatchObject({ status: 'success', attempt: 2, lost: 1 });
  expect((await over(run)).attempt).toBe(1);
  expect(journal.of(run.run_id).map(({ left, pid }) => [left, pid])).toEqual([
    [2, pidOf(first)],
    [1, pidOf(first)],
  ]);
  expect((await states()).filter((state) => state === 'created' || state === 'retry')).toEqual([]);
  await second.kill('SIGKILL');
});
