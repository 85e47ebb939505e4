import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Where a run stops, and where it goes on, as the request says. */

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

test.each([
  ['before a node', { interruptBefore: ['step'] }, { done: 0, left: 2 }],
  ['after a node', { interruptAfter: ['step'] }, { done: 1, left: 1 }],
  ['before every node', { interruptBefore: '*' as const }, { done: 0, left: 2 }],
  ['after every node', { interruptAfter: '*' as const }, { done: 1, left: 1 }],
])('a run stops %s, and the next one without input goes on from there', async (_, where, seen) => {
  const { runs, threads } = agent.client;
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, 'steps', { input: { left: 2 }, ...where });
  expect(await threads.getState(thread_id)).toMatchObject({ values: seen, next: ['step'] });
  expect(await threads.get(thread_id)).toMatchObject({ status: 'interrupted' });
  expect(await runs.wait(thread_id, 'steps', { input: null })).toMatchObject({ done: 2, left: 0 });
  expect(await threads.get(thread_id)).toMatchObject({ status: 'idle' });
});

test('a command changes the state and goes to a node', async () => {
  const { runs, threads } = agent.client;
  const { thread_id } = await threads.create();
  expect(await runs.wait(thread_id, 'steps', { input: { left: 2 } })).toMatchObject({ done: 2, left: 0 });
  const command = { update: { left: 3, done: 10 }, goto: 'step' };
  expect(await runs.wait(thread_id, 'steps', { command })).toMatchObject({ done: 15, left: 0 });
});
