import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { openRecord } from './stopping/record.ts';

/* A worker lives, but another one has its run by now. It renews its leases too rarely to notice by that. */

const record = openRecord();
let database: TestDatabase;
let api: AgentProcess;
let worker: AgentProcess;

const start = (slots: number, leaseSeconds: number): Promise<AgentProcess> =>
  startAgent({
    database: database.uri,
    config: 'test/agent/wire/stopping/gx.json',
    env: { N_JOBS_PER_WORKER: String(slots), GX_JOB_LEASE_SECS: String(leaseSeconds) },
  });

beforeAll(async () => {
  database = await freshDatabase();
  [api, worker] = await Promise.all([start(0, 3600), start(2, 3600)]);
});

afterAll(async () => {
  await Promise.all([api.kill(), worker.kill('SIGKILL')]);
  await database.drop();
  record.remove();
});

type Begun = { thread_id: string; run_id: string; leave: () => void };

/** Starts a run, whose events a client reads at the other process. */
async function begin(graph: 'counting' | 'calling'): Promise<Begun> {
  const { client } = api;
  const { thread_id } = await client.threads.create();
  const leaving = new AbortController();
  const created = Promise.withResolvers<string>();
  const input = { journal: record.journal, gate: record.gate };
  const read = Array.fromAsync(
    client.runs.stream(thread_id, graph, {
      input,
      config: { recursion_limit: 10_000 },
      streamMode: ['custom', 'values'],
      streamResumable: true,
      signal: leaving.signal,
      onRunCreated: ({ run_id }: { run_id: string }) => created.resolve(run_id),
    }),
  );
  // The reader leaves before the run ends.
  read.catch(created.reject);
  const run_id = await created.promise;
  await until(
    'it is at work',
    () => record.of(run_id).length > 1 || record.of(run_id).some(({ says }) => says === 'waits'),
  );
  return { thread_id, run_id, leave: () => leaving.abort() };
}

/** Returns all that was stored of the run, and of its thread. */
async function storedOf({ thread_id, run_id }: Begun): Promise<unknown> {
  const counts = `select (select count(*) from gx.checkpoints where thread_id = $1::text) as checkpoints,
    (select count(*) from gx.checkpoint_writes where thread_id = $1::text) as writes,
    (select count(*) from gx.checkpoint_blobs where thread_id = $1::text) as blobs,
    (select count(*) from gx.stream_event where run_id = $2) as events`;
  const [run] = await database.sql(
    'select status, worker, attempt, lost, error, lease_until from gx.run where run_id = $1',
    [run_id],
  );
  const [thread] = await database.sql(
    'select status, "values", interrupts from gx.thread where thread_id = $1',
    [thread_id],
  );
  return [...(await database.sql(counts, [thread_id, run_id])), run, thread];
}

const row = async (runId: string): Promise<{ status: string; worker: string; attempt: number }> =>
  (
    await database.sql<{ status: string; worker: string; attempt: number }>(
      'select status, worker, attempt from gx.run where run_id = $1',
      [runId],
    )
  )[0]!;

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

test('a worker writes nothing more of a run that was taken from it, and stops it with the step that is under way', async () => {
  const run = await begin('counting');
  await database.sql(
    `update gx.run set worker = gen_random_uuid(), attempt = attempt + 1 where run_id = $1`,
    [run.run_id],
  );
  // What Postgres had begun to write by then may still come.
  await pause(50);
  const [before, steps] = [await storedOf(run), record.of(run.run_id).length];
  await pause(1500);
  expect(await storedOf(run)).toEqual(before);
  // A step takes 200 ms. One is under way, and another may begin before the end of the first could be stored.
  expect(record.of(run.run_id).length - steps).toBeLessThanOrEqual(2);
  run.leave();
});

test('whoever takes up a run whose lease is over tells the worker that had it, which stops it at once', async () => {
  const run = await begin('calling');
  // Without a free slot, the worker can't take the run up again itself.
  const beside = await begin('calling');
  const former = await row(run.run_id);
  const other = await start(5, 2);
  const taken = Date.now();
  await database.sql(
    `update gx.run set lease_until = now() - interval '1 minute' where run_id = $1`,
    [run.run_id],
  );
  const stopped = await until('the tool stops there', () =>
    record.of(run.run_id).find(({ says, pid }) => says === 'stops' && pid === worker.process.pid),
  );
  // Leases are looked at every third of the other worker's two seconds.
  expect(stopped.at - taken).toBeLessThan(2000);
  await until(
    'it is under way again',
    () => record.of(run.run_id).filter(({ says }) => says === 'waits').length === 2,
  );
  expect(await row(run.run_id)).toMatchObject({ status: 'running', attempt: former.attempt + 1 });
  for (const { thread_id, run_id } of [run, beside])
    await api.client.runs.cancel(thread_id, run_id, true);
  await other.kill();
});

test('a worker that gets a run again which it had lost stops the former attempt before it begins the next', async () => {
  const run = await begin('calling');
  // All that it has to store is stored by then, so that it does not learn of its loss by that.
  await pause(500);
  await database.sql(
    `update gx.run set status = 'pending', worker = null, lease_until = null, begun = null where run_id = $1`,
    [run.run_id],
  );
  const said = (): unknown[] => record.of(run.run_id).map(({ says }) => says);
  await until('it is under way again', () => said().length === 3);
  await api.client.runs.cancel(run.thread_id, run.run_id, true);
  expect(said()).toEqual(['waits', 'stops', 'waits', 'stops']);
  expect(await row(run.run_id)).toMatchObject({ status: 'interrupted', attempt: 2 });
});
