import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* Budgets of runs: the calls that they let begin, the question, and how a run goes on. */

let database: TestDatabase;
let agent: AgentProcess;
const effects = path.join(mkdtempSync(path.join(tmpdir(), 'gx-budgets-')), 'effects');

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/budgets/graphs/gx.json',
    env: { EFFECTS: effects },
  });
});
afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Question = { id: string; value: { message: string; gx: Record<string, unknown> } };
type Ended = {
  answers?: string[];
  done?: number;
  __interrupt__?: Question[];
  __error__?: { error: string; message: string };
};

const createThread = async (): Promise<string> => (await agent.client.threads.create()).thread_id;

/** Runs to the end, and returns the last state. */
async function run(threadId: string | null, body: object, graph = 'asks'): Promise<Ended> {
  const answer = await fetch(
    `${agent.url}${threadId === null ? '' : `/threads/${threadId}`}/runs/wait`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id: graph, ...body }),
    },
  );
  const ended = (await answer.json()) as Ended;
  if (!answer.ok) throw new Error(`${answer.status} ${JSON.stringify(ended)}`);
  return ended;
}

function countNotes(threadId: string): Record<string, number> {
  const lines = existsSync(effects) ? readFileSync(effects, 'utf8').split('\n') : [];
  const counts: Record<string, number> = {};
  for (const line of lines) {
    const [what = '', thread] = line.split(' ');
    if (thread === threadId) counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

const readStatus = async (threadId: string) => (await agent.client.threads.get(threadId)).status;

test.each(['plain', 'sync', 'tool', 'subgraph', 'insist'])(
  'a run by the way "%s" makes the calls that its budget pays, asks, and goes on when it is raised',
  async (kind) => {
    const thread = await createThread();
    const asked = await run(thread, { input: { kind, calls: 5 }, budget: { usd: 0.1 } });
    expect(countNotes(thread)).toMatchObject({ effect: 1, call: 3 });
    const [question] = asked.__interrupt__!;
    expect(question).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      value: {
        message: 'The budget "usd" of this run is spent: $0.09 of $0.10.',
        gx: { budget: 'usd', per: 'run', unit: 'usd', spent: 0.09, hard: 0.1 },
      },
    });
    expect(await readStatus(thread)).toBe('interrupted');
    const resume = { [question!.id]: { decision: 'raise', to: 0.13 } };
    const again = await run(thread, { command: { resume } });
    expect(countNotes(thread)).toMatchObject({ effect: 1, call: 4 });
    expect(again.__interrupt__![0]!.value.gx).toMatchObject({ spent: 0.12, hard: 0.13 });
    const ended = await run(thread, { command: { resume: { decision: 'raise', to: 1 } } });
    expect(ended.__interrupt__).toBeUndefined();
    expect(countNotes(thread)).toMatchObject({ effect: 1, call: 5 });
    expect(ended.done).toBe(5);
    expect(ended.answers!.filter((answer) => answer === 'yes')).toHaveLength(5);
    expect(countNotes(thread)['first']).toBe(kind === 'subgraph' ? 5 : undefined);
    expect(await readStatus(thread)).toBe('idle');
  },
);

test('a graph within another one goes on behind the steps that had ended', async () => {
  const thread = await createThread();
  await run(thread, { input: { calls: 1 }, budget: { calls: 0 } }, 'own');
  expect(countNotes(thread)).toEqual({ first: 1 });
  const ended = await run(thread, { command: { resume: { decision: 'raise', to: 5 } } }, 'own');
  expect(ended.answers).toContain('yes');
  expect(countNotes(thread)).toEqual({ first: 1, call: 1 });
});

test('of a hundred branches at once, as many ask the model as the budget has room for', async () => {
  const thread = await createThread();
  const asked = await run(thread, { input: { kind: 'send', calls: 100 }, budget: { calls: 10 } });
  expect(countNotes(thread)).toEqual({ effect: 1, call: 10 });
  const ids = new Set(asked.__interrupt__!.map(({ id }) => id));
  expect(ids.size).toBe(1);
  const ended = await run(thread, {
    command: { resume: { [[...ids][0]!]: { decision: 'raise', to: 100 } } },
  });
  expect(ended.done).toBe(100);
  expect(countNotes(thread)).toEqual({ effect: 1, call: 100 });
});

test('work beside a refused call comes to its end first', async () => {
  const thread = await createThread();
  const asked = await run(thread, { input: { kind: 'beside', calls: 2 }, budget: { calls: 0 } });
  expect(asked.__interrupt__).toHaveLength(1);
  expect(countNotes(thread)).toEqual({ effect: 1, slow: 1 });
  await run(thread, { command: { resume: { decision: 'raise', to: 2 } } });
  expect(countNotes(thread)).toEqual({ effect: 1, slow: 1, call: 2 });
});

test('a question of the graph itself never gets the answer to one of a budget', async () => {
  const thread = await createThread();
  await run(thread, { input: { kind: 'question', calls: 1 }, budget: { calls: 0 } });
  const asked = await run(thread, { command: { resume: { decision: 'raise', to: 3 } } });
  expect(asked.__interrupt__![0]!.value).toEqual({ question: 'Which word?' });
  const ended = await run(thread, { command: { resume: 'blue' } });
  expect(ended.answers).toEqual(['yes', 'blue']);
});

test('answers of the graph spend from the budget of the input that they follow', async () => {
  const thread = await createThread();
  await run(thread, { input: { kind: 'question', calls: 1 }, budget: { calls: 1 } });
  // The node begins again, and asks the model again.
  const asked = await run(thread, { command: { resume: 'blue' } });
  expect(asked.__interrupt__![0]!.value.gx).toMatchObject({ spent: 1, hard: 1 });
  expect(countNotes(thread)).toMatchObject({ call: 1 });
  // New input has a budget of its own, or none.
  const ended = await run(thread, { input: { kind: 'plain', calls: 3, done: 0 } });
  expect(ended.__interrupt__).toBeUndefined();
});

test('an answer may end the run where it is', async () => {
  const thread = await createThread();
  const asked = await run(thread, { input: { kind: 'plain', calls: 2 }, budget: { calls: 1 } });
  await run(thread, {
    command: { resume: { [asked.__interrupt__![0]!.id]: { decision: 'stop' } } },
  });
  expect(await readStatus(thread)).toBe('idle');
  const state = await agent.client.threads.getState(thread);
  expect(state.next).toEqual([]);
  expect(countNotes(thread)).toEqual({ effect: 1, call: 1 });
});

test('a bound of nothing refuses the first call, and a model that costs nothing stays usable', async () => {
  const [dear, free] = [await createThread(), await createThread()];
  await run(dear, { input: { kind: 'plain', calls: 1 }, budget: { usd: 0 } });
  expect(countNotes(dear)).toEqual({ effect: 1 });
  const ended = await run(free, {
    input: { kind: 'plain', calls: 2, model: 'free' },
    budget: { usd: 0 },
  });
  expect(ended.done).toBe(2);
});

test('a model without a price is asked about, once', async () => {
  const thread = await createThread();
  const input = { kind: 'plain', calls: 3, model: 'unknown-model' };
  const asked = await run(thread, { input, budget: { usd: 1 } });
  expect(asked.__interrupt__![0]!.value).toMatchObject({
    message: 'The budget "usd" is in US dollars, and the model "unknown-model" has no price.',
    gx: { unpriced: 'unknown-model' },
  });
  const ended = await run(thread, { command: { resume: { decision: 'raise' } } });
  expect(ended.done).toBe(3);
});

test('a run without a thread that could wait fails', async () => {
  const ended = await run(null, { input: { kind: 'plain', calls: 2 }, budget: { calls: 1 } });
  expect(ended.__error__).toEqual({
    error: 'BudgetExceeded',
    message: 'The budget "calls" of this run is spent: 1 of 1 calls.',
  });
});

test('faulty budgets and answers are refused at the field', async () => {
  const thread = await createThread();
  const input = { kind: 'plain', calls: 2 };
  for (const [budget, field] of [
    [{ usd: -1 }, 'body.budget.usd'],
    [{ usd: 1e30 }, 'body.budget.usd'],
    [{ calls: 0.5 }, 'body.budget.calls'],
    [{ dollars: 1 }, 'body.budget.dollars'],
  ] as const)
    await expect(run(thread, { input, budget })).rejects.toThrow(new RegExp(`^422 .*${field}: `));
  await run(thread, { input, budget: { calls: 1 } });
  for (const [answer, field] of [
    ['yes', 'decision'],
    [{ decision: 'raise' }, 'to'],
    [{ decision: 'raise', to: 1 }, 'to'],
    [{ decision: 'raise', to: 1e30 }, 'to'],
    [{ decision: 'raise', to: 1.5 }, 'to'],
  ] as const)
    await expect(run(thread, { command: { resume: answer } })).rejects.toThrow(
      new RegExp(`^422 .*body.command.resume.${field}: `),
    );
  expect(countNotes(thread)).toEqual({ effect: 1, call: 1 });
});

test('of two raises at once, one is refused', async () => {
  const thread = await createThread();
  await run(thread, { input: { kind: 'plain', calls: 4 }, budget: { calls: 1 } });
  const raise = { command: { resume: { decision: 'raise', to: 2 } } };
  const results = await Promise.allSettled([run(thread, raise), run(thread, raise)]);
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const refused = results.find((result) => result.status === 'rejected');
  expect(String(refused?.reason)).toContain('409');
  expect(countNotes(thread)).toMatchObject({ call: 2 });
});
