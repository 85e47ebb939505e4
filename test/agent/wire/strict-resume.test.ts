import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* An answer to a question may say that it counts only while the question waits. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

/** Asks a question on a thread of its own. Returns the thread, and the id of the question. */
async function asked(): Promise<{ thread: string; question: string }> {
  const { runs, threads } = agent.client;
  const { thread_id: thread } = await threads.create();
  await runs.wait(thread, 'approval', { input: { request: 'go' } });
  const { tasks } = await threads.getState(thread);
  return { thread, question: tasks[0]!.interrupts[0]!.id! };
}

async function answer(thread: string, resume: unknown, fields: object = {}): Promise<number> {
  const body = { assistant_id: 'approval', command: { resume }, strict_resume: true, ...fields };
  const response = await fetch(`${agent.url}/threads/${thread}/runs/wait`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
}

const runsOf = async (thread: string): Promise<number> =>
  (await agent.client.runs.list(thread)).length;

test('one of several who answer at the same instant is heard, and the others change nothing', async () => {
  const { thread, question } = await asked();
  const names = Array.from({ length: 8 }, (_, at) => `answer ${at}`);
  const statuses = await Promise.all(names.map((name) => answer(thread, { [question]: name })));
  expect([
    statuses.filter((one) => one === 200).length,
    statuses.filter((one) => one === 409).length,
  ]).toEqual([1, 7]);
  const { values } = await agent.client.threads.getState<{ answer: string }>(thread);
  expect(values.answer).toBe(names[statuses.indexOf(200)]);
  expect(await runsOf(thread)).toBe(2);
});

test('a question that was answered, or never asked, takes no answer', async () => {
  const { thread, question } = await asked();
  expect(await answer(thread, { ['0'.repeat(32)]: 'yes' })).toBe(409);
  expect(await answer(thread, {})).toBe(409);
  expect(await answer(thread, { [question]: 'yes' }, { multitask_strategy: 'reject' })).toBe(200);
  expect(await answer(thread, { [question]: 'no' }, { multitask_strategy: 'reject' })).toBe(409);
  expect(await answer(thread, 'no', { multitask_strategy: 'rollback' })).toBe(409);
  expect(await agent.client.threads.get(thread)).toMatchObject({
    status: 'idle',
    values: { answer: 'yes' },
  });
  expect(await runsOf(thread)).toBe(2);
});

test('an answer without an id is for the only question', async () => {
  const { thread } = await asked();
  expect(await answer(thread, 'yes')).toBe(200);
  expect(await agent.client.threads.get(thread)).toMatchObject({ values: { answer: 'yes' } });
});
