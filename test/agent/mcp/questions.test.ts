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
async function called(
  name: string,
  answers: Record<string, Content>,
): Promise<{ state: unknown; asked: string[] }> {
  const client = new Client(
    { name: 'a test', version: '1' },
    { capabilities: { elicitation: {} } },
  );
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
  const { state, asked } = await called('below', {
    'First?': { answer: 'a' },
    'Second?': { answer: 'b' },
  });
  expect(asked).toEqual(['First?', 'Second?']);
  expect(state).toMatchObject({ said: ['begun', 'thought', 'a', 'b'] });
});

test('questions at once are asked at once, and each gets its own answer', async () => {
  const { state, asked } = await called('both', {
    'Left?': { answer: 'l' },
    'Right?': { answer: 'r' },
  });
  expect(asked.toSorted()).toEqual(['Left?', 'Right?']);
  expect((state as { said: string[] }).said.toSorted()).toEqual(['l', 'r']);
});

test('a graph that brings a form gets what stands in it', async () => {
  expect(await called('form', { 'How many seats?': { seats: 4 } })).toMatchObject({
    state: { seats: 4 },
    asked: ['How many seats?'],
  });
});

test('a client knows the form of a graph by its name, and may bring the response with the first request', async () => {
  const call = async (more: object): Promise<Record<string, unknown>> => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    };
    const response = await fetch(`${agent.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'form',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'form', arguments: {}, _meta: meta, ...more },
      }),
    });
    return ((await response.json()) as { result: Record<string, unknown> }).result;
  };
  const asked = await call({});
  expect(asked).toMatchObject({
    resultType: 'input_required',
    inputRequests: { table: { params: { message: 'How many seats?' } } },
  });
  const accepted = {
    inputResponses: { table: { action: 'accept', content: { seats: 2 } }, other: {} },
  };
  const { requestState } = asked;
  expect(await call({ ...accepted, requestState })).toMatchObject({
    resultType: 'complete',
    structuredContent: { seats: 2 },
  });
  expect(await call(accepted)).toMatchObject({
    resultType: 'complete',
    structuredContent: { seats: 2 },
  });
});

test('a graph that stops without a question has ended', async () => {
  expect(await called('paused', {})).toMatchObject({ state: { said: ['one'] }, asked: [] });
});

test('the description of gx.json is that of the tool, and no call has left a thread', async () => {
  const client = new Client({ name: 'a test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`)));
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === 'form')).toMatchObject({
    description: 'Orders a table.',
  });
  await client.close();
  await expect.poll(() => database.sql('select 1 from gx.thread')).toEqual([]);
  expect(await database.sql('select 1 from gx.checkpoints')).toEqual([]);
});
