import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* What goes over the wire in both eras, and the answers to requests that are wrong. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  const env = {
    GX_CORS_ALLOW_ORIGINS: 'https://pages.example.com',
    GX_HTTP_MAX_REQUEST_BODY_BYTES: '100000',
  };
  agent = await startAgent({ database: database.uri, env });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Headers = Record<string, string>;
type Answer = {
  status: number;
  headers: globalThis.Headers;
  message: Record<string, unknown> | undefined;
};

const BOTH = 'application/json, text/event-stream';
const NEWER = '2026-07-28';

async function post(body: unknown, headers: Headers = {}): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const all = { 'content-type': 'application/json', accept: BOTH, ...headers };
  const response = await fetch(`${agent.url}/mcp`, { method: 'POST', headers: all, body: text });
  const answer = await response.text();
  const json = answer.startsWith('event:') ? /^data: (.*)$/m.exec(answer)![1]! : answer;
  return {
    status: response.status,
    headers: response.headers,
    message: json === '' ? undefined : JSON.parse(json),
  };
}

const older = (method: string, params?: object): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  ...(params && { params }),
});

const META = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
};

/** Sends a request as revision 2026-07-28 has it, with changes to its headers and `_meta`. */
const newer = (
  method: string,
  params: object = {},
  { headers = {}, meta = META }: { headers?: Headers; meta?: object } = {},
) => {
  const { name } = params as { name?: string };
  const named = name === undefined ? {} : { 'mcp-name': name };
  const own = { 'mcp-protocol-version': NEWER, 'mcp-method': method, ...named, ...headers };
  return post(
    older(method, { ...params, _meta: meta }),
    Object.fromEntries(Object.entries(own).filter(([, value]) => value !== '')),
  );
};

describe('the older era', () => {
  const hello = (protocolVersion: string): object =>
    older('initialize', {
      protocolVersion,
      capabilities: {},
      clientInfo: { name: 'a test', version: '1' },
    });

  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'initialize agrees on revision %s',
    async (version) => {
      const { status, message } = await post(hello(version));
      expect([status, message!['result']]).toEqual([
        200,
        {
          protocolVersion: version,
          capabilities: { tools: { listChanged: false } },
          serverInfo: expect.objectContaining({ name: 'gx-platform' }),
        },
      ]);
    },
  );

  test('initialize answers with its own newest revision where it does not know the one asked for', async () => {
    const { message } = await post(hello('1999-01-01'));
    expect(message!['result']).toMatchObject({ protocolVersion: '2025-11-25' });
  });

  test('ping is answered, a notification is taken, and no session begins', async () => {
    const ping = await post(older('ping'));
    expect([ping.status, ping.message, ping.headers.get('mcp-session-id')]).toEqual([
      200,
      { jsonrpc: '2.0', id: 1, result: {} },
      null,
    ]);
    const told = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([told.status, told.message]).toEqual([202, undefined]);
  });

  test('a tool is called', async () => {
    const { message } = await post(older('tools/call', { name: 'steps', arguments: { left: 1 } }));
    expect(message!['result']).toMatchObject({
      isError: false,
      structuredContent: { left: 0, done: 1 },
    });
  });

  test.each(['GET', 'DELETE'])('%s is not allowed', async (method) => {
    const response = await fetch(`${agent.url}/mcp`, {
      method,
      headers: { accept: 'text/event-stream' },
    });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('revision 2026-07-28', () => {
  test('server/discover tells what the server can do, and how long that may be kept', async () => {
    const { status, message } = await newer('server/discover');
    expect(status).toBe(200);
    expect(message!['result']).toMatchObject({
      resultType: 'complete',
      supportedVersions: [NEWER],
      capabilities: { tools: {} },
      cacheScope: 'private',
      ttlMs: 3_600_000,
    });
  });

  test('tools/list is the private list of whoever asks', async () => {
    const { message } = await newer('tools/list');
    expect(message!['result']).toMatchObject({
      resultType: 'complete',
      cacheScope: 'private',
      ttlMs: 60_000,
    });
  });

  test('tools/call answers JSON, with the type of the result', async () => {
    const { headers, message } = await newer('tools/call', {
      name: 'steps',
      arguments: { left: 1 },
    });
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(message!['result']).toMatchObject({
      resultType: 'complete',
      structuredContent: { left: 0, done: 1 },
    });
  });

  test('a long call is kept alive, and still answers', async () => {
    const { message } = await newer('tools/call', {
      name: 'steps',
      arguments: { left: 1, pause: 400 },
    });
    expect(message!['result']).toMatchObject({ structuredContent: { left: 0 } });
  });

  test('what a client carries between two requests can not be forged', async () => {
    const capable = { ...META, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
    const call = { name: 'approval', arguments: { request: 'go' } };
    const asked = await newer('tools/call', call, { meta: capable });
    const { resultType, requestState, inputRequests } = asked.message!['result'] as Record<
      string,
      string & Record<string, object>
    >;
    expect([resultType, Object.values(inputRequests!)]).toMatchObject([
      'input_required',
      [{ method: 'elicitation/create' }],
    ]);
    const [id] = Object.keys(inputRequests!);
    const inputResponses = { [id!]: { action: 'accept', content: { answer: 'yes' } } };
    const again = (state: string, name = 'approval') =>
      newer(
        'tools/call',
        { ...call, name, requestState: state, inputResponses },
        { meta: capable },
      );
    const forged = requestState!.slice(0, -4) + (requestState!.endsWith('AAAA') ? 'BBBB' : 'AAAA');
    expect((await again(forged)).message!['error']).toMatchObject({ code: -32_602 });
    expect((await again(requestState!, 'chat')).message!['error']).toMatchObject({ code: -32_602 });
    expect((await again(requestState!)).message!['result']).toMatchObject({
      structuredContent: { answer: 'yes' },
    });
    const late = await again(requestState!);
    expect(late.message!['error']).toMatchObject({ code: -32_602, message: /Nothing waits/ });
  });

  test('a client that does not bring the responses is asked again', async () => {
    const capable = { ...META, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
    const call = { name: 'approval', arguments: { request: 'go' } };
    const asked = await newer('tools/call', call, { meta: capable });
    const { requestState } = asked.message!['result'] as { requestState: string };
    const again = await newer('tools/call', { ...call, requestState }, { meta: capable });
    expect(again.message!['result']).toMatchObject({ resultType: 'input_required' });
  });
});

const call = { name: 'steps', arguments: { left: 1 } };

describe('what is wrong is answered in the words of the protocol', () => {
  const without = (name: keyof typeof META): object =>
    Object.fromEntries(Object.entries(META).filter(([key]) => key !== name));

  test.each<[string, () => Promise<Answer>, number, number]>([
    ['no JSON', () => post('{'), 400, -32_700],
    ['an empty body', () => post(''), 400, -32_600],
    ['a text', () => post('"hello"'), 400, -32_600],
    [
      'another content type',
      () => post(older('ping'), { 'content-type': 'text/plain' }),
      415,
      -32_000,
    ],
    [
      'a client that takes no stream',
      () => post(older('ping'), { accept: 'application/json' }),
      406,
      -32_000,
    ],
    [
      'a body that is too large',
      () => post(older('ping', { text: 'x'.repeat(200_000) })),
      413,
      -32_000,
    ],
    [
      'a character that no text has',
      () => post('{"jsonrpc":"2.0","id":1,"method":"\\u0000"}'),
      400,
      -32_600,
    ],
    [
      'a page that may not call',
      () => post(older('ping'), { origin: 'https://evil.example.com' }),
      403,
      -32_000,
    ],
    [
      'an unknown revision',
      () => newer('tools/list', {}, { headers: { 'mcp-protocol-version': '2031-01-01' } }),
      400,
      -32_020,
    ],
    [
      'a revision that body and header do not share',
      () => newer('tools/list', {}, { headers: { 'mcp-protocol-version': '' } }),
      400,
      -32_020,
    ],
    [
      'no method in the headers',
      () => newer('tools/list', {}, { headers: { 'mcp-method': '' } }),
      400,
      -32_020,
    ],
    [
      'another method in the headers',
      () => newer('tools/list', {}, { headers: { 'mcp-method': 'ping' } }),
      400,
      -32_020,
    ],
    [
      'another tool in the headers',
      () => newer('tools/call', call, { headers: { 'mcp-name': 'chat' } }),
      400,
      -32_020,
    ],
    [
      'no capabilities',
      () =>
        newer('tools/list', {}, { meta: without('io.modelcontextprotocol/clientCapabilities') }),
      400,
      -32_602,
    ],
    ['an unknown method', () => newer('tools/burn'), 404, -32_601],
    ['a method of the older era', () => newer('ping'), 404, -32_601],
    ['an unknown method of the older era', () => post(older('tools/burn')), 200, -32_601],
    ['an unknown tool', () => newer('tools/call', { name: 'nobody' }), 200, -32_602],
    [
      'a tool without a name',
      () => newer('tools/call', { arguments: {} }, { headers: { 'mcp-name': 'x' } }),
      200,
      -32_602,
    ],
    [
      'arguments that are no object',
      () => post(older('tools/call', { ...call, arguments: [] })),
      200,
      -32_602,
    ],
    ['a cursor that no list had', () => post(older('tools/list', { cursor: '!' })), 200, -32_602],
  ])('%s', async (_what, ask, status, code) => {
    const answer = await ask();
    expect([answer.status, answer.message]).toMatchObject([
      status,
      { jsonrpc: '2.0', error: { code } },
    ]);
    expect(JSON.stringify(answer.message)).not.toMatch(/\.ts:|node_modules|    at /);
  });

  test('the header of a name may be in base64', async () => {
    const name = `=?base64?${Buffer.from('steps').toString('base64')}?=`;
    const { message } = await newer('tools/call', call, { headers: { 'mcp-name': name } });
    expect(message!['result']).toMatchObject({ structuredContent: { left: 0 } });
  });

  test('a page that may call gets the headers that a browser needs, with a refusal too', async () => {
    const { headers, status } = await post('{', { origin: 'https://pages.example.com' });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([
      400,
      'https://pages.example.com',
    ]);
  });
});
