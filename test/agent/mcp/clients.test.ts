import {
  Client,
  StreamableHTTPClientTransport,
  type CallToolResult,
} from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* The official client of MCP, in both eras of the protocol. */

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

const OLDER = '2025-11-25';
const NEWER = '2026-07-28';

async function connected(version: string, client: Client): Promise<Client> {
  if (version === NEWER) client.setVersionNegotiation({ mode: { pin: NEWER } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`)));
  expect(client.getNegotiatedProtocolVersion()).toBe(version);
  return client;
}

const plain = (version: string): Promise<Client> =>
  connected(version, new Client({ name: 'a client', version: '1' }));

/** A client that shows forms to a person, who does with each what `answer` says. */
function asking(
  answer: (message: string) => { action: 'accept' | 'decline'; content?: Record<string, string> },
): Promise<Client> {
  const client = new Client(
    { name: 'a client with a person', version: '1' },
    { capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => answer(params.message));
  return connected(NEWER, client);
}

const human = (content: string) => ({ messages: [{ role: 'user', content }] });
const textOf = ({ content }: CallToolResult): string =>
  content[0]?.type === 'text' ? content[0].text : '';

/** Returns how many runs have ended as interrupted. */
const stopped = (): number => agent.output().split('"status":"interrupted"').length - 1;

describe.each([OLDER, NEWER])('a client of revision %s', (version) => {
  let client: Client;
  beforeEach(async () => {
    client = await plain(version);
    return () => client.close();
  });

  test('sees each assistant as a tool', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name, title }) => [name, title])).toEqual(
      ['approval', 'broken', 'chat', 'steps'].map((name) => [name, name]),
    );
    expect(tools[0]).toMatchObject({
      description: 'Asks the agent "approval".',
      inputSchema: { type: 'object' },
    });
  });

  test('gets the final state of a call as text and as structured content, and nothing of the call stays', async () => {
    const result = await client.callTool({ name: 'chat', arguments: human('hello') });
    expect(result).toMatchObject({
      isError: false,
      structuredContent: { messages: [{ content: 'hello' }, { content: 'I hear you well.' }] },
    });
    expect(JSON.parse(textOf(result))).toEqual(result.structuredContent);
    expect(await agent.client.threads.count()).toBe(0);
  });

  test('hears that a graph failed, in its words', async () => {
    const result = await client.callTool({ name: 'broken', arguments: { how: 'error' } });
    expect([result.isError, textOf(result)]).toEqual([true, 'TypeError: Boo!']);
  });

  test('is told that a tool does not exist', async () => {
    await expect(client.callTool({ name: 'nobody', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
      message: /Unknown tool: nobody/,
    });
  });

  test('hears of the progress that it asks for', async () => {
    const heard: (string | undefined)[] = [];
    const onprogress = ({ message }: { message?: string | undefined }): number =>
      heard.push(message);
    const result = await client.callTool({ name: 'steps', arguments: { left: 2 } }, { onprogress });
    expect(result.structuredContent).toMatchObject({ left: 0, done: 2 });
    expect(heard).toEqual(['started', 'step', 'step']);
  });

  test('stops a call by leaving', async () => {
    const before = stopped();
    const leaving = new AbortController();
    // In the older era, a client that only aborts a call goes on listening to its answer.
    const leave = (): void => (version === NEWER ? leaving.abort() : void client.close());
    const call = client.callTool(
      { name: 'broken', arguments: { how: 'never' } },
      { signal: leaving.signal, onprogress: leave },
    );
    await expect(call).rejects.toThrow();
    await until('the run is stopped', () => stopped() > before);
  });

  test('hears that its run was stopped by somebody else', async () => {
    const onprogress = (): void => void agent.client.runs.cancelMany({ status: 'running' });
    const result = await client.callTool(
      { name: 'broken', arguments: { how: 'never' } },
      { onprogress },
    );
    expect([result.isError, textOf(result)]).toEqual([
      true,
      'Interrupted: The run was stopped before its end.',
    ]);
  });

  test('that shows no forms gets the question with the state and the thread, on which others can answer', async () => {
    const result = await client.callTool({ name: 'approval', arguments: { request: 'go' } });
    const { thread_id, ...state } = result.structuredContent as { thread_id: string };
    expect(result.isError).toBe(false);
    expect(state).toMatchObject({
      request: 'go',
      __interrupt__: [{ value: { question: 'May I go?' } }],
    });
    expect(await agent.client.threads.get(thread_id)).toMatchObject({ status: 'interrupted' });
    const end = await agent.client.runs.wait(thread_id, 'approval', { command: { resume: 'yes' } });
    expect(end).toEqual({ request: 'go', answer: 'yes' });
    await agent.client.threads.delete(thread_id);
  });
});

describe('a client that shows forms', () => {
  test('is asked what the graph asks, and goes on with the answer', async () => {
    const asked: string[] = [];
    const client = await asking((message) => {
      asked.push(message);
      return { action: 'accept', content: { answer: 'yes' } };
    });
    const result = await client.callTool({ name: 'approval', arguments: { request: 'go' } });
    expect(asked).toEqual([JSON.stringify({ question: 'May I go?' }, null, 2)]);
    expect(result.structuredContent).toEqual({ request: 'go', answer: 'yes' });
    expect(await agent.client.threads.count()).toBe(0);
    await client.close();
  });

  test('may answer with an object', async () => {
    const client = await asking(() => ({ action: 'accept', content: { answer: '{"ok": true}' } }));
    const result = await client.callTool({ name: 'approval', arguments: { request: 'go' } });
    expect(result.structuredContent).toEqual({ request: 'go', answer: { ok: true } });
    await client.close();
  });

  test('ends the call where the person declines', async () => {
    const client = await asking(() => ({ action: 'decline' }));
    const result = await client.callTool({ name: 'approval', arguments: { request: 'go' } });
    expect([result.isError, textOf(result)]).toEqual([
      true,
      'The question of the agent was not answered in time, so it was dropped.',
    ]);
    expect(await agent.client.threads.count()).toBe(0);
    await client.close();
  });
});
