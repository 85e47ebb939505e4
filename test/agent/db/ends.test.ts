import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadEarlierEnd, finishRuns } from '../../../src/agent/db/runs/ends.ts';
import { askToStop, registerReader } from '../../../src/agent/db/runs/runs.ts';
import {
  insertThreads,
  refreshThreadState,
  loadRunCount,
} from '../../../src/agent/db/threads/threads.ts';
import { until } from '../../kit/until.ts';
import { freshOpenDatabase, type OpenDatabase } from '../../kit/postgres-opened.ts';

let on: OpenDatabase;
const worker = randomUUID();
const reader = randomUUID();

beforeAll(async () => {
  on = await freshOpenDatabase();
});

afterAll(() => on.drop());

async function run(status: 'pending' | 'running'): Promise<{ run_id: string; thread_id: string }> {
  const [thread_id, run_id] = [randomUUID(), randomUUID()];
  await insertThreads(on.db, [{ thread_id, metadata: {} }]);
  await on.database.sql(
    `insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, worker, kwargs, multitask_strategy)
      values ($1, $2, gen_random_uuid(), 'none', $3, $4, '{}', 'enqueue')`,
    [run_id, thread_id, status, status === 'running' ? worker : null],
  );
  return { run_id, thread_id };
}

test('an end whose answer got lost is known again by its worker, and by nobody else', async () => {
  const { run_id, thread_id } = await run('running');
  await registerReader(on.db, run_id, reader);
  const thread = { status: 'idle', values: '{}', interrupts: '{}' } as const;
  const ending = {
    run_id,
    thread_id,
    worker,
    status: 'success',
    error: null,
    webhook: false,
    hasCalls: false,
    thread,
  } as const;
  expect(await loadEarlierEnd(on.db, ending)).toBeUndefined();
  const finished = {
    readers: [reader],
    more: false,
    status: 'success',
    updated_at: expect.any(String) as string,
    told: false,
  };
  expect(await finishRuns(on.db, [ending])).toEqual([finished]);
  expect(await finishRuns(on.db, [ending])).toEqual([undefined]);
  expect(await loadEarlierEnd(on.db, ending)).toEqual(finished);
  expect(await loadEarlierEnd(on.db, { ...ending, worker: randomUUID() })).toBeUndefined();
});

test('an end that comes after the answer to a cancel keeps to what that said', async () => {
  const thread = { status: 'error', values: '{}', interrupts: '{}' } as const;
  const failed = {
    worker,
    status: 'error',
    error: { error: 'Error', message: 'Boo!' },
    webhook: false,
    hasCalls: false,
    thread,
  } as const;
  const [interrupted, undone] = [await run('running'), await run('running')];
  await askToStop(on.db, [interrupted.run_id], 'interrupt');
  await askToStop(on.db, [undone.run_id], 'rollback');
  const ends = await finishRuns(
    on.db,
    [interrupted, undone].map((one) => ({ ...failed, ...one })),
  );
  expect(ends).toEqual([
    {
      readers: [],
      more: false,
      status: 'interrupted',
      updated_at: expect.any(String) as string,
      told: false,
    },
    'to-roll-back',
  ]);
  const rows = `select r.status, r.error as run, t.status as rest, t.error as thread from gx.run r join gx.thread t using (thread_id) where run_id = $1`;
  expect(await on.database.sql(rows, [interrupted.run_id])).toEqual([
    { status: 'interrupted', run: null, rest: 'idle', thread: null },
  ]);
  expect(await on.database.sql(rows, [undone.run_id])).toMatchObject([{ status: 'running' }]);
});

test('a reader that had to wait for a claim knows who has the run', async () => {
  const { run_id } = await run('pending');
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const { promise: claimed, resolve: claim } = Promise.withResolvers<void>();
  const claiming = on.db.transaction(async (tx) => {
    await tx.query({
      text: `update gx.run set status = 'running', worker = $2 where run_id = $1`,
      values: [run_id, worker],
    });
    hold();
    await claimed;
  });
  await held;
  const progress = registerReader(on.db, run_id, reader);
  const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until('it waits', async () => (await on.database.sql(waits)).length > 0);
  claim();
  await claiming;
  expect(await progress).toMatchObject({ status: 'running', worker });
});

test('what an ended run left is not written over the state of a later one', async () => {
  const { thread_id } = await run('pending');
  await on.database.sql(`update gx.run set status = 'success' where thread_id = $1`, [thread_id]);
  const left = { values: { from: 'the former' }, interrupts: {}, waiting: false };
  const runs = (await loadRunCount(on.db, thread_id))!;
  const values = async (): Promise<unknown> =>
    (await on.database.sql(`select "values" from gx.thread where thread_id = $1`, [thread_id]))[0];
  await refreshThreadState(on.db, thread_id, { ...left, runs });
  expect(await values()).toEqual({ values: left.values });
  await on.database.sql(
    `update gx.thread set runs = runs + 1, "values" = '{"from": "the later"}' where thread_id = $1`,
    [thread_id],
  );
  await refreshThreadState(on.db, thread_id, { ...left, runs });
  expect(await values()).toEqual({ values: { from: 'the later' } });
});
