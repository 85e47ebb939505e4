import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BudgetState } from '../../../src/schema/agent/budget-state.ts';
import { spawnAgent, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* Budgets that several runs share, over two servers: the database decides about each call. */

const CONFIG = 'test/agent/budgets/graphs/gx.json';
const [SHARED, REFUSING, KILLED, AGAIN] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
const BESIDE = randomUUID();
const ROUNDS = 20;
const ROUND_ASSISTANTS = Array.from({ length: ROUNDS }, () => randomUUID());
const buildBudget = (name: string, assistant: string, more: object): object => ({
  name,
  per: 'assistant',
  unit: 'calls',
  only: { assistants: [assistant] },
  ...more,
});
const BUDGETS = [
  buildBudget('shared', SHARED, { hard: 10, most: 100 }),
  buildBudget('refusing', REFUSING, { hard: 2, within: 'day', at: 'fail' }),
  buildBudget('beside', BESIDE, { hard: 1000 }),
  buildBudget('killed', KILLED, { hard: 1000 }),
  {
    name: 'rounds',
    per: 'assistant',
    unit: 'calls',
    hard: 10,
    only: { assistants: ROUND_ASSISTANTS },
  },
  buildBudget('again', AGAIN, { hard: 1, within: 'hour', timezone: 'Asia/Kolkata' }),
];
const env = { GX_BUDGETS: JSON.stringify(BUDGETS) };

let database: TestDatabase;
let agents: AgentProcess[];

beforeAll(async () => {
  database = await freshDatabase();
  const first = await startAgent({ database: database.uri, config: CONFIG, env });
  agents = [first, await startAgent({ database: database.uri, config: CONFIG, env })];
  for (const assistantId of [SHARED, REFUSING, KILLED, AGAIN, BESIDE, ...ROUND_ASSISTANTS])
    await first.client.assistants.create({ graphId: 'asks', assistantId });
});
afterAll(async () => {
  for (const agent of agents) await agent.kill();
  await database.drop();
});

const post = (path: string, body: object, at = 0): Promise<Response> =>
  fetch(`${agents[at]!.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Waits for the end of a run, which comes behind the head of the answer. */
async function runToEnd(thread: string, body: object, at = 0): Promise<unknown> {
  return (await post(`/threads/${thread}/runs/wait`, body, at)).json();
}

async function readBudget(name: string): Promise<BudgetState['scopes'][number] | undefined> {
  const answer = await fetch(`${agents[0]!.url}/budgets`);
  const states = (await answer.json()) as BudgetState[];
  return states.find((state) => state.name === name)!.scopes[0];
}

async function readScope(name: string, scope: string): Promise<unknown> {
  const answer = await fetch(`${agents[0]!.url}/budgets?scope=${scope}`);
  const states = (await answer.json()) as BudgetState[];
  return states.find((state) => state.name === name)!.scopes[0];
}

const createThreads = (count: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, async () => (await agents[0]!.client.threads.create()).thread_id),
  );

const readStatuses = async (threads: string[]): Promise<string[]> =>
  Promise.all(threads.map(async (id) => (await agents[0]!.client.threads.get(id)).status));

async function countCalls(threads: string[]): Promise<number> {
  const [row] = await database.sql<{ count: number }>(
    `select count(*)::int as count from gx.model_call where thread_id in (${threads.map((id) => `'${id}'`).join(', ')})`,
  );
  return row!.count;
}

test('a hundred branches of four runs on two servers make the calls that there is room for, ask, and go on', async () => {
  const threads = await createThreads(4);
  const input = { kind: 'send', calls: 25 };
  await Promise.all(threads.map((id, at) => runToEnd(id, { assistant_id: SHARED, input }, at % 2)));
  expect(await countCalls(threads)).toBe(10);
  expect(await readStatuses(threads)).toEqual(threads.map(() => 'interrupted'));
  expect(await readBudget('shared')).toEqual({
    scope: SHARED,
    since: null,
    resets_at: null,
    spent: 10,
    held: 0,
    bound: 10,
    waiting: 4,
    queued: 0,
  });

  for (const [to, words] of [
    [5, 'body.to: must be more than 10'],
    [101, 'body.to: must be at most 100'],
    [1e30, 'body.to'],
  ] as const) {
    const refused = await post('/budgets/shared/raise', { scope: SHARED, to });
    expect([refused.status, await refused.text()]).toEqual([
      422,
      expect.stringContaining(words) as string,
    ]);
  }
  const raise = { scope: SHARED, to: 100, from: 10 };
  const raised = await Promise.all([0, 1].map((at) => post('/budgets/shared/raise', raise, at)));
  expect(raised.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
    200, 409,
  ]);
  await expect
    .poll(() => readStatuses(threads), { timeout: 30_000 })
    .toEqual(threads.map(() => 'idle'));
  expect(await countCalls(threads)).toBe(100);
  expect(await readBudget('shared')).toMatchObject({ spent: 100, held: 0, bound: 100, waiting: 0 });
});

test(`of a hundred branches over four workers, as many ask as there is room for, in ${ROUNDS} rounds`, async () => {
  const second = { database: database.uri, config: CONFIG, env };
  const more = [await startAgent(second), await startAgent(second)];
  try {
    const workers = [...agents, ...more];
    for (let round = 0; round < ROUNDS; round += 1) {
      const threads = await createThreads(4);
      const input = { kind: 'send', calls: 25 };
      await Promise.all(
        threads.map(async (thread, at) => {
          const answer = await fetch(`${workers[at]!.url}/threads/${thread}/runs/wait`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ assistant_id: ROUND_ASSISTANTS[round], input }),
          });
          await answer.text();
        }),
      );
      expect(await countCalls(threads)).toBe(10);
      expect(await readScope('rounds', ROUND_ASSISTANTS[round]!)).toMatchObject({
        spent: 10,
        held: 0,
        waiting: 4,
      });
    }
    const [row] = await database.sql<{ workers: number }>(
      `select count(distinct worker)::int as workers from gx.worker`,
    );
    expect(row!.workers).toBe(workers.length);
  } finally {
    for (const one of more) await one.kill();
  }
}, 120_000);

test('a call counts once, in a budget of its run and in one that runs share', async () => {
  const [thread] = await createThreads(1);
  const input = { kind: 'plain', calls: 6 };
  await runToEnd(thread!, { assistant_id: BESIDE, input, budget: { calls: 4 } });
  expect(await countCalls([thread!])).toBe(4);
  await expect.poll(() => readScope('beside', BESIDE)).toMatchObject({ spent: 4, held: 0 });
});

test('a budget that fails ends the run, and refuses others until its window is over', async () => {
  const [thread] = await createThreads(1);
  const body = { assistant_id: REFUSING, input: { kind: 'plain', calls: 3 } };
  expect(await runToEnd(thread!, body)).toMatchObject({ __error__: { error: 'BudgetExceeded' } });
  const refused = await post(`/threads/${thread}/runs`, body, 1);
  expect(refused.status).toBe(402);
  const seconds = Number(refused.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(86_400);
  expect(await refused.text()).toContain('is spent: 2 of 2 calls. A new day begins at');
});

test('a thread goes on by itself when the window of its budget is over', async () => {
  const [thread] = await createThreads(1);
  const body = { assistant_id: AGAIN, input: { kind: 'plain', calls: 2 } };
  await runToEnd(thread!, body);
  expect(await readStatuses([thread!])).toEqual(['interrupted']);
  const state = await readBudget('again');
  // The windows are those of a zone that is half an hour beside UTC.
  expect(state!.resets_at).toMatch(/:30:00/);
  await database.sql(
    `update gx.budget_account set since = since - interval '1 hour', ends_at = now() where budget = 'spec/again';
     update gx.budget_chain set since = since - interval '1 hour' where budget = 'spec/again'`,
  );
  await expect.poll(() => readStatuses([thread!]), { timeout: 10_000 }).toEqual(['idle']);
  expect(await countCalls([thread!])).toBe(2);
});

test('servers that are killed at any time leave sums that agree, and hold nothing', async () => {
  const threads = await createThreads(12);
  for (const [at, thread] of threads.entries()) {
    const worker = await spawnAgent({ database: database.uri, config: CONFIG, env });
    await expect
      .poll(
        () =>
          fetch(`${worker.url}/ok`).then(
            ({ ok }) => ok,
            () => false,
          ),
        { timeout: 60_000 },
      )
      .toBe(true);
    void fetch(`${worker.url}/threads/${thread}/runs/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        assistant_id: KILLED,
        input: { kind: 'plain', calls: 2, model: 'slow' },
      }),
    }).catch(() => undefined);
    await wait(100 * at);
    await worker.kill('SIGKILL');
  }
  await expect
    .poll(() => database.sql(`select 1 from gx.run where status in ('pending', 'running')`), {
      timeout: 90_000,
    })
    .toEqual([]);
  await expect.poll(async () => (await readBudget('killed'))?.held, { timeout: 60_000 }).toBe(0);
  expect(await database.sql('select 1 from gx.budget_hold')).toEqual([]);
  expect((await readBudget('killed'))!.spent).toBe(await countCalls(threads));
});
