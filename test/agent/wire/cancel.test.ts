import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { asAdmin } from '../../kit/postgres-template.ts';
import { linesOf } from '../../kit/lines.ts';
import { until } from '../../kit/until.ts';

/* What clients see of a run between the answer to their cancel and the moment at which its worker has stopped it. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  // A test needs the time to lock the second row before Postgres looks for a deadlock.
  const name = new URL(database.uri).pathname.slice(1);
  await asAdmin(inject('postgres'), (admin) =>
    admin.query(`alter database ${name} set deadlock_timeout = '3s'`),
  );
  agent = await startAgent({ database: database.uri });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Ids = [threadId: string, runId: string];

/** A run whose graph ignores the stop. Its worker has to end the graph's thread, which takes two seconds. */
async function deafRun(): Promise<Ids> {
  const { client } = agent;
  const { thread_id } = await client.threads.create();
  const spun = agent.output().split('spinning').length;
  const { run_id } = await client.runs.create(thread_id, 'broken', { input: { how: 'spin' } });
  await until('the graph spins', () => agent.output().split('spinning').length > spun);
  return [thread_id, run_id];
}

/** The ids that each line of the log about the run has. */
const idsOf = ([thread_id, run_id]: Ids): object => ({
  thread_id,
  run_id,
  trace_id: run_id.replaceAll('-', ''),
  request_id: expect.any(String) as string,
});

test('the line about a graph that has to be ended has the ids of its run and of its request', async () => {
  const run = await deafRun();
  await agent.client.runs.cancel(...run);
  const about = await until('its thread is ended', () =>
    linesOf(agent.output()).find(
      ({ msg, run_id }) =>
        run_id === run[1] && msg === 'ending the thread of a graph that does not yield',
    ),
  );
  expect(about).toMatchObject(idsOf(run));
});

const statusesOf = async (
  threadId: string,
  filter?: 'running' | 'interrupted',
): Promise<string[]> =>
  (await agent.client.runs.list(threadId, filter && { status: filter })).map(
    ({ status }) => status,
  );

test('a cancelled run reads as interrupted from the answer on, and its thread is busy until the worker has stopped it', async () => {
  const { runs, threads } = agent.client;
  const run = await deafRun();
  await runs.cancel(...run);
  expect(await runs.get(...run)).toMatchObject({ status: 'interrupted' });
  expect(await statusesOf(run[0])).toEqual(['interrupted']);
  expect(await statusesOf(run[0], 'interrupted')).toEqual(['interrupted']);
  expect(await statusesOf(run[0], 'running')).toEqual([]);
  expect(await threads.get(run[0])).toMatchObject({ status: 'busy' });
  const next = await runs.create(run[0], 'steps', { input: { left: 1 } });
  expect(await runs.get(run[0], next.run_id)).toMatchObject({ status: 'pending' });
  expect(await runs.join(run[0], next.run_id)).toMatchObject({ done: 1 });
  expect(await runs.get(...run)).toMatchObject({ status: 'interrupted' });
  expect(await threads.get(run[0])).toMatchObject({ status: 'idle' });
});

/**
 * The answer to a cancel that is in a deadlock with a transaction of the test. Nobody can tell Postgres which of the
 * two it has to undo: it undoes the one that first waits for three seconds. On a busy machine that may be the test's,
 * and then the cancel is carried out.
 */
async function cancelInADeadlock(run_ids: string[]): Promise<Response> {
  const other = new Client({ connectionString: database.uri });
  await other.connect();
  try {
    const lock = (at: 0 | 1) =>
      other.query('select 1 from gx.run where run_id = $1 for update', [run_ids[at]]);
    await other.query('begin');
    await lock(1);
    const answer = cancelRuns(run_ids);
    const waits = `select 1 from pg_stat_activity where application_name = 'gx-agent-server' and wait_event_type = 'Lock'`;
    await until(
      'the cancel waits for the second run',
      async () => (await database.sql(waits)).length > 0,
    );
    await Promise.allSettled([lock(0)]);
    await other.query('rollback');
    return await answer;
  } finally {
    await other.end();
  }
}

const cancelRuns = (run_ids: string[]): Promise<Response> =>
  fetch(`${agent.url}/runs/cancel`, { method: 'POST', body: JSON.stringify({ run_ids }) });

test('a cancel that Postgres undoes, to break a deadlock, is a conflict that says so, and can be sent again', async () => {
  const { runs } = agent.client;
  const later = async (): Promise<string> =>
    (await runs.create(null, 'steps', { input: {}, afterSeconds: 600 })).run_id;
  let run_ids: string[];
  let answer: Response;
  do {
    run_ids = [await later(), await later()].toSorted();
    answer = await cancelInADeadlock(run_ids);
  } while (answer.status === 204);
  expect([answer.status, await answer.json()]).toEqual([
    409,
    { detail: expect.stringContaining('deadlock') },
  ]);
  expect((await cancelRuns(run_ids)).status).toBe(204);
});

test('a run that is rolled back is gone from the answer on', async () => {
  const { runs, threads } = agent.client;
  const run = await deafRun();
  await runs.cancel(...run, false, 'rollback');
  const gone = { status: 404 };
  await expect(runs.get(...run)).rejects.toMatchObject(gone);
  await expect(runs.cancel(...run)).rejects.toMatchObject(gone);
  await expect(runs.delete(...run)).rejects.toMatchObject(gone);
  await expect(runs.join(...run)).rejects.toMatchObject(gone);
  await expect(Array.fromAsync(runs.joinStream(...run))).rejects.toMatchObject(gone);
  expect(await statusesOf(run[0])).toEqual([]);
  expect(await threads.get(run[0])).toMatchObject({ status: 'busy' });
  await expect.poll(async () => (await threads.get(run[0])).status).toBe('idle');
  await expect(runs.get(...run)).rejects.toMatchObject(gone);
});

test('a run that was interrupted may still be rolled back, as long as its worker has not stopped it', async () => {
  const { runs } = agent.client;
  const run = await deafRun();
  await runs.cancel(...run);
  await runs.cancel(...run, true, 'rollback');
  await expect(runs.get(...run)).rejects.toMatchObject({ status: 404 });
});

test('a cancel of all runs that are running leaves out those that were cancelled before', async () => {
  const { runs } = agent.client;
  const run = await deafRun();
  const cancelAll = (): Promise<void> => runs.cancelMany({ status: 'running' });
  await cancelAll();
  expect(await runs.get(...run)).toMatchObject({ status: 'interrupted' });
  await expect(cancelAll()).rejects.toMatchObject({ status: 404 });
  await expect.poll(async () => (await agent.client.threads.get(run[0])).status).toBe('idle');
});

describe('a graph that ends as it is cancelled', () => {
  // Some runs end before their cancel, some after it, and some at the same time.
  const race = async (
    action: 'interrupt' | 'rollback',
  ): Promise<{ said: string; got: string }[]> => {
    const { runs, threads } = agent.client;
    return Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        const { thread_id } = await threads.create();
        const { run_id } = await runs.create(thread_id, 'steps', {
          input: { left: 1, pause: at * 20 },
        });
        const said = await runs.cancel(thread_id, run_id, false, action).then(
          () => 'cancelled',
          () => 'finished',
        );
        await expect
          .poll(async () => (await threads.get(thread_id)).status, { interval: 5 })
          .not.toBe('busy');
        const got = await runs.get(thread_id, run_id).then(
          ({ status }) => status,
          () => 'gone',
        );
        return { said, got };
      }),
    );
  };

  test.each([
    ['interrupt', 'interrupted'],
    ['rollback', 'gone'],
  ] as const)('keeps to what the answer to %s said', async (action, end) => {
    const ends = await race(action);
    expect(
      ends.filter(({ said, got }) => got !== (said === 'cancelled' ? end : 'success')),
    ).toEqual([]);
    expect(ends.map(({ said }) => said)).toContain('cancelled');
  });
});

test('a cancelled run whose worker dies is ended by another process', async () => {
  const own = await freshDatabase();
  const env = { GX_JOB_LEASE_SECS: '3' };
  // A process without slots takes no runs, but it looks after the runs of dead workers.
  const api = await startAgent({ database: own.uri, env: { ...env, GX_JOBS_PER_WORKER: '0' } });
  const doomed = await startAgent({ database: own.uri, env });
  const { runs, threads } = api.client;
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, 'broken', { input: { how: 'spin' } });
  await until('the graph spins', () => doomed.output().includes('spinning'));
  await runs.cancel(thread_id, run_id);
  await doomed.kill('SIGKILL');
  expect(await runs.get(thread_id, run_id)).toMatchObject({ status: 'interrupted' });
  await expect.poll(async () => (await threads.get(thread_id)).status).toBe('idle');
  expect(await runs.get(thread_id, run_id)).toMatchObject({ status: 'interrupted' });
  await api.kill();
  await own.drop();
});
