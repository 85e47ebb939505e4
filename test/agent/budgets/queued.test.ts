import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BudgetState } from '../../../src/schema/agent/budget-state.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* Budgets whose new runs stay in the queue, and budgets of time that several runs share. */

const CONFIG = 'test/agent/budgets/graphs/gx.json';
const [WAITS, AGAIN, TIMED, FREE, GONE] = Array.from({ length: 5 }, () => randomUUID()) as [
  string,
  string,
  string,
  string,
  string,
];
const buildBudget = (name: string, assistant: string, more: object): object => ({
  name,
  per: 'assistant',
  only: { assistants: [assistant] },
  ...more,
});
const BUDGETS = [
  buildBudget('waits', WAITS, { unit: 'calls', hard: 3, at: 'wait', within: 'month' }),
  buildBudget('again', AGAIN, { unit: 'calls', hard: 1, at: 'wait', within: 'day' }),
  buildBudget('timed', TIMED, { unit: 'seconds', hard: 0.7 }),
  buildBudget('gone', GONE, { unit: 'calls', hard: 1, at: 'wait', within: 'month' }),
];
const env = { GX_BUDGETS: JSON.stringify(BUDGETS) };
/** Runs that come to a budget that is spent. */
const MANY = 200;

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: CONFIG, env });
  for (const assistantId of [WAITS, AGAIN, TIMED, FREE, GONE])
    await agent.client.assistants.create({ graphId: 'asks', assistantId });
});
afterAll(async () => {
  await agent.kill();
  await database.drop();
});

async function readBudget(name: string): Promise<BudgetState['scopes'][number]> {
  const states = (await (await fetch(`${agent.url}/budgets`)).json()) as BudgetState[];
  return states.find((state) => state.name === name)!.scopes[0]!;
}

const createThread = async (): Promise<string> => (await agent.client.threads.create()).thread_id;

const run = (thread: string, assistant: string, calls: number, model = 'dear'): Promise<unknown> =>
  agent.client.runs.wait(thread, assistant, { input: { kind: 'plain', calls, model } });

const start = async (thread: string, assistant: string): Promise<void> =>
  void (await agent.client.runs.create(thread, assistant, { input: { kind: 'plain', calls: 1 } }));

async function countRuns(assistant: string): Promise<Record<string, number>> {
  const rows = await database.sql<{ status: string; count: number }>(
    `select status, count(*)::int as count from gx.run where assistant_id = '${assistant}' group by 1`,
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

test('new runs of a spent budget stay in the queue without a question, and all start when it is raised', async () => {
  const first = await createThread();
  await run(first, WAITS, 3);
  const threads = await Promise.all(Array.from({ length: MANY }, createThread));
  await Promise.all(threads.map((thread) => start(thread, WAITS)));
  // Two runs of one thread keep their order.
  await start(threads[0]!, WAITS);
  await expect
    .poll(async () => (await readBudget('waits')).queued, { timeout: 30_000 })
    .toBe(MANY + 1);
  expect(await countRuns(WAITS)).toEqual({ success: 1, pending: MANY + 1 });
  expect(await readBudget('waits')).toMatchObject({ spent: 3, held: 0, waiting: 0 });
  // A queued run has not begun: it is due when the window is over.
  const [row] = await database.sql<{ attempts: number; late: boolean }>(
    `select max(attempt) as attempts, bool_and(due_at > now()) as late from gx.run where status = 'pending'`,
  );
  expect(row).toEqual({ attempts: 0, late: true });

  // Others go on meanwhile.
  await run(await createThread(), FREE, 1);

  const raised = Date.now();
  const answer = await fetch(`${agent.url}/budgets/waits/raise`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ scope: WAITS, to: 1000 }),
  });
  expect(answer.status).toBe(200);
  await expect.poll(() => countRuns(WAITS), { timeout: 60_000 }).toEqual({ success: MANY + 2 });
  const [began] = await database.sql<{ ms: number; queued: number; ordered: boolean }>(
    `select max(extract(epoch from started_at) * 1000)::float8 as ms, (select count(*)::int from gx.budget_queued) as queued,
      (select bool_and(started_at > before) from (select started_at, lag(started_at) over (order by created_at) as before
        from gx.run where thread_id = '${threads[0]}') o) as ordered
      from gx.run where assistant_id = '${WAITS}'`,
  );
  expect(began).toMatchObject({ queued: 0, ordered: true });
  expect(began!.ms - raised).toBeLessThan(30_000);
  expect((await readBudget('waits')).spent).toBe(3 + MANY);
});

test('a queued run begins by itself when the window is over, and one that was cancelled never', async () => {
  await run(await createThread(), AGAIN, 1);
  const [kept, cancelled] = [await createThread(), await createThread()];
  await start(kept, AGAIN);
  await start(cancelled, AGAIN);
  await expect.poll(async () => (await readBudget('again')).queued).toBe(2);
  const [queued] = await agent.client.runs.list(cancelled);
  await agent.client.runs.cancel(cancelled, queued!.run_id, true);
  await database.sql(
    `update gx.budget_account set since = since - interval '1 day', ends_at = now() where budget = 'spec/again';
     update gx.budget_queued set since = since - interval '1 day' where budget = 'spec/again'`,
  );
  await expect
    .poll(() => countRuns(AGAIN), { timeout: 20_000 })
    .toEqual({ success: 2, interrupted: 1 });
});

test('runs share time under way, also that in which no model is asked', async () => {
  const [first, second] = [await createThread(), await createThread()];
  const asked = (await run(first, TIMED, 9, 'slow')) as {
    __interrupt__: { value: { message: string } }[];
  };
  expect(asked.__interrupt__[0]!.value.message).toMatch(
    /^The budget "timed" of this assistant is spent: \d\.\d of 0\.7 seconds\.$/,
  );
  const { spent } = await readBudget('timed');
  expect(spent).toBeGreaterThanOrEqual(0.7);
  expect(spent).toBeLessThan(5);
  // Another thread asks before its first call, and the time of its run counts.
  await run(second, TIMED, 1);
  expect(await readBudget('timed')).toMatchObject({ waiting: 2 });
  expect((await readBudget('timed')).spent).toBeGreaterThan(spent);
});

test('a run in the queue begins where a new revision has no budget that keeps it there', async () => {
  await run(await createThread(), GONE, 1);
  await start(await createThread(), GONE);
  await expect.poll(async () => (await readBudget('gone')).queued).toBe(1);
  await agent.kill();
  agent = await startAgent({ database: database.uri, config: CONFIG });
  await expect.poll(() => countRuns(GONE), { timeout: 20_000 }).toEqual({ success: 2 });
}, 60_000);
