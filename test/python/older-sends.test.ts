import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';
import { pythonTools } from './tools.ts';

/* Threads that an older LangGraph has left go on with today's: `make test-python LANGGRAPH=0.4`. */

const CONFIG = 'classes.gx.json';

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startPython(database.uri, {}, CONFIG);
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

test('sends that wait for answers are carried out by a newer LangGraph', async () => {
  const { thread_id } = await agent.client.threads.create();
  await agent.client.runs.wait(thread_id, 'sends', { input: {} });
  await agent.kill('SIGKILL');
  agent = await startPython(database.uri, { GX_PYTHON: `${await pythonTools()}/python` }, CONFIG);
  const { interrupts } = await agent.client.threads.get(thread_id);
  const asked = Object.values(interrupts).flat();
  expect(asked).toHaveLength(4);
  const resume = Object.fromEntries(asked.map(({ id }) => [id!, 'yes']));
  const values = await agent.client.runs.wait(thread_id, 'sends', { command: { resume } });
  expect((values as { found: unknown[] }).found).toHaveLength(4);
}, 240_000);
