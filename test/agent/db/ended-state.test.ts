import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  insertThreads,
  removeTemporaryThread,
  setThreadState,
} from '../../../src/agent/db/threads/threads.ts';
import { loadEndedState } from '../../../src/agent/runs/reading/result.ts';
import { freshOpenDatabase, type OpenDatabase } from '../../kit/postgres-opened.ts';

let on: OpenDatabase;
beforeAll(async () => {
  on = await freshOpenDatabase();
});
afterAll(() => on.drop());

test('the state of a run that has ended is that of its thread, and none is made up once the run took its thread along', async () => {
  const run = { run_id: randomUUID(), thread_id: randomUUID() };
  await insertThreads(on.db, [{ thread_id: run.thread_id, metadata: {} }]);
  await setThreadState(on.db, run.thread_id, {
    status: 'idle',
    values: { done: 2 },
    interrupts: {},
  });
  await on.database.sql(
    `insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, kwargs, multitask_strategy)
      values ($1, $2, gen_random_uuid(), 'none', 'success', '{}', 'enqueue')`,
    [run.run_id, run.thread_id],
  );
  expect(JSON.parse(await loadEndedState(on.db, run))).toEqual({ done: 2 });
  await removeTemporaryThread(on.db, run.thread_id, { afterSeconds: 0 });
  await expect(loadEndedState(on.db, run)).rejects.toMatchObject({
    status: 404,
    message: `Run with ID ${run.run_id} not found`,
  });
});
