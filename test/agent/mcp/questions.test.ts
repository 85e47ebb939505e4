import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Questions of graphs, as the clients of tools get them. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/mcp/graphs/gx.json' });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Content = Record<string, string | number>;

/** Calls a tool; whatever is asked is answered by its message. Returns the state at the end, and what was asked. */
async function called(name: string, answers: Record<string, Content>): Promise<{ state: unknown; asked: string[] }> {
  const client = new Client({ name: 'a test', version: '1' }, { capabilities: { elicitation: {} } });
  client.setVersionNegotiation({ mode: { pin: '2026-07-28' } });
  const asked: string[] = [];
  client.setRequestHandler('elicitation/create', ({ params: { message } }) => {
    asked.push(message);
    return { action: 'accept', content: answers[message]! };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`)));
  const { structuredContent } = await client.callTool({ name, arguments: {} });
  await client.close();
  return { state: structuredContent, asked };
}

test('a graph below asks one question after the other, and goes on where it was', async () => {
  const { state, asked } = await called('below', { 'First?': { answer: 'a' }, 'Second?': { answer: 'b' } });
  expect(asked).toEqual(['First?', 'Second?']);
  expect(state).toMatchObject({ said: ['begun', 'thought', 'a', 'b'] });
});

test('questions at once are asked at once, and each gets its own answer', async () => {
  const { state, asked } = await called('both', { 'Left?': { answer: 'l' }, 'Right?': { answer: 'r' } });
  expect(asked.toSorted()).toEqual(['Left?', 'Right?']);
  expect((state as { said: string[] }).said.toSorted()).toEqual(['l', 'r']);
});

test('a graph that brings a form gets what stands in it', async () => {
  expect(await called('form', { 'How many seats?': { seats: 4 } })).toMatchObject({ state: { seats: 4 }, asked: ['How many seats?'] });
});

test('a graph that stops without a question has ended', async () => {
  expect(await called('paused', {})).toMatchObject({ state: { said: ['one'] }, asked: [] });
});

test('the description of gx.json is that of the tool, and no call has left a thread', async () => {
  const client = new Client({ name: 'a test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`)));
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === 'form')).toMatchObject({ description: 'Orders a table.' });
  await client.close();
  await expect.poll(() => database.sql('select 1 from gx.thread')).toEqual([]);
  expect(await database.sql('select 1 from gx.checkpoints')).toEqual([]);
});
