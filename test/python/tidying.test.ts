import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startPython } from './agent.ts';

/* Python graphs that delete, copy and prune checkpoints of threads that the server has records of. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startPython(database.uri);
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

const newThread = async (): Promise<string> => (await agent.client.threads.create()).thread_id;

/** Returns a thread with two runs, which have counted to 2 and to 4. */
async function counted(): Promise<{ thread_id: string; last: string }> {
  const thread_id = await newThread();
  for (const to of [2, 4]) await agent.client.runs.wait(thread_id, 'counter', { input: { to } });
  const [run] = await agent.client.runs.list(thread_id);
  return { thread_id, last: run!.run_id };
}

const doneIn = async (thread_id: string): Promise<unknown[]> =>
  (await agent.client.threads.getHistory(thread_id)).map(
    ({ values }) => (values as { done?: number }).done,
  );

/** Has a graph do it, and returns why it failed. */
async function tidy(
  does: string,
  given: string[],
  thread_id?: string,
): Promise<string | undefined> {
  const on = thread_id ?? (await newThread());
  const { run_id } = await agent.client.runs.create(on, 'tidies', { input: { does, given } });
  await until(
    'it is over',
    async () => !['pending', 'running'].includes((await agent.client.runs.get(on, run_id)).status),
  );
  const [row] = await database.sql<{ message: string | null }>(
    `select error->>'message' as message from gx.run where run_id = $1`,
    [run_id],
  );
  return row!.message ?? undefined;
}

test('a pruned thread keeps its last state, and goes on from there', async () => {
  const { thread_id } = await counted();
  expect(await tidy('prune', [thread_id])).toBeUndefined();
  expect(await doneIn(thread_id)).toEqual([4]);
  expect(await agent.client.runs.wait(thread_id, 'counter', { input: { to: 5 } })).toMatchObject({
    done: 5,
  });
});

test('the checkpoints of a run are deleted, and those of the run before it stay', async () => {
  const { thread_id, last } = await counted();
  expect(await tidy('delete', [last])).toBeUndefined();
  expect((await doneIn(thread_id))[0]).toBe(2);
});

test('a copy has the states of the thread, and is not made over other ones', async () => {
  const { thread_id } = await counted();
  const { thread_id: copy } = await agent.client.threads.create({ graphId: 'counter' });
  expect(await tidy('copy', [thread_id, copy])).toBeUndefined();
  expect(await doneIn(copy)).toEqual(await doneIn(thread_id));
  expect(await tidy('copy', [thread_id, copy])).toContain(`Thread ${copy} has checkpoints`);
});

test('a thread that has a run under way is refused with a sentence, and keeps all', async () => {
  const { thread_id, last } = await counted();
  const stored = (): Promise<unknown[]> =>
    database.sql(
      'select checkpoint_id from gx.checkpoints where thread_id = $1 order by checkpoint_id',
      [thread_id],
    );
  const before = await stored();
  for (const [does, given] of [
    ['prune', [thread_id]],
    ['delete', [last]],
    ['copy', [randomUUID(), thread_id]],
  ] as const)
    expect(await tidy(does, [...given], thread_id)).toContain(
      `Thread ${thread_id} has a run under way`,
    );
  expect((await stored()).slice(0, before.length)).toEqual(before);
});

test('a strategy that does not exist is refused with a sentence', async () => {
  expect(await tidy('forget', [await newThread()])).toContain(
    '"forget" is no strategy to prune threads by',
  );
});
