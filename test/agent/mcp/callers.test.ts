import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as SdkClient } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Handlers of `auth.path` decide which tools a caller has, and each caller is alone with its calls. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/auth/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

async function toolsOf(token: string): Promise<Client> {
  const client = new Client(
    { name: token, version: '1' },
    { versionNegotiation: { mode: 'auto' } },
  );
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`), { requestInit }),
  );
  return client;
}

const namesOf = async (client: Client): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

const assistantsOf = (token: string): SdkClient['assistants'] => {
  const defaultHeaders = { authorization: `Bearer ${token}` };
  return new SdkClient({
    apiUrl: agent.url,
    apiKey: null,
    defaultHeaders,
    callerOptions: { maxRetries: 0 },
  }).assistants;
};

test('whoever is not let in is told so by HTTP, as clients expect it', async () => {
  await expect(toolsOf('banned')).rejects.toThrow();
  const answer = await fetch(`${agent.url}/mcp`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  });
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
});

test('a caller has the assistants that it may read as tools, and calls no others', async () => {
  const { assistant_id } = await assistantsOf('ann').create({ graphId: 'who', name: 'Who am I?' });
  await assistantsOf('bob').create({ graphId: 'who', name: "Bob's own" });
  const [ann, bob] = [await toolsOf('ann'), await toolsOf('bob')];
  expect([await namesOf(ann), await namesOf(bob)]).toEqual([['Who_am_I'], ['Bob_s_own']]);
  const result = await ann.callTool({ name: 'Who_am_I', arguments: { said: 'hello' } });
  expect(result.structuredContent).toMatchObject({ said: 'hello', id: 'ann' });
  await expect(bob.callTool({ name: 'Who_am_I', arguments: {} })).rejects.toMatchObject({
    code: -32_602,
  });
  await assistantsOf('ann').delete(assistant_id);
  // A client may keep a list for a while.
  expect(await namesOf(await toolsOf('ann'))).toEqual([]);
});

test('assistants of one name are told apart, and names that no client takes are made plain', async () => {
  const made = [];
  for (const name of ['Twin', 'Twin', '  ', 'Ünïcode: näme!', 'x'.repeat(90)])
    made.push(await assistantsOf('eve').create({ graphId: 'who', name }));
  const client = await toolsOf('eve');
  const second = `Twin_${made[1]!.assistant_id.slice(-8)}`;
  expect((await namesOf(client)).toSorted()).toEqual(
    ['Twin', second, 'assistant', 'n_code_n_me', 'x'.repeat(55)].toSorted(),
  );
  for (const name of ['Twin', second])
    expect(await client.callTool({ name, arguments: { said: 'it' } })).toMatchObject({
      isError: false,
    });
});

test('more tools than a page has come page by page, each of them once', async () => {
  const names = Array.from({ length: 103 }, (_, at) => `tool-${String(at).padStart(3, '0')}`);
  await Promise.all(names.map((name) => assistantsOf('fay').create({ graphId: 'who', name })));
  const client = await toolsOf('fay');
  const first = await client.request({ method: 'tools/list', params: {} });
  expect([first.tools.length, typeof first.nextCursor]).toEqual([100, 'string']);
  expect(await namesOf(client)).toEqual(names);
});

test('a handler that refuses runs refuses calls, in its own words', async () => {
  await assistantsOf('gil').create({ graphId: 'who', name: 'mine' });
  const client = await toolsOf('gil!threads:create_run');
  await expect(client.callTool({ name: 'mine', arguments: {} })).rejects.toMatchObject({
    code: -32_602,
  });
});

test('nobody goes on with a question that another caller was asked', async () => {
  for (const token of ['hal', 'ida'])
    await assistantsOf(token).create({ graphId: 'approval', name: 'approve' });
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
  };
  const call = async (
    token: string,
    more: object,
  ): Promise<Record<string, Record<string, string>>> => {
    const params = { name: 'approve', arguments: { request: 'go' }, ...more, _meta: meta };
    const response = await fetch(`${agent.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'approve',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    });
    return (await response.json()) as Record<string, Record<string, string>>;
  };
  const { result } = await call('hal', {});
  const { requestState, inputRequests } = result!;
  const [id] = Object.keys(inputRequests!);
  const inputResponses = { [id!]: { action: 'accept', content: { answer: 'yes' } } };
  expect(await call('ida', { requestState, inputResponses })).toMatchObject({
    error: { code: -32_602 },
  });
  expect(await call('hal', { requestState, inputResponses })).toMatchObject({
    result: { structuredContent: { answer: 'yes' } },
  });
});
