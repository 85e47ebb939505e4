import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* A deployment has a key, which its pods get as files of a Secret. Whoever does not show it is not let in. */

const KEY = `gxa_${'k'.repeat(43)}`;
const NEXT = `gxa_${'n'.repeat(43)}`;

const folder = mkdtempSync(path.join(tmpdir(), 'gx-key-'));
const file = (name: string): string => path.join(folder, name);

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  writeFileSync(file('api-key'), `${KEY}\n`);
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, env: { GX_AGENT_KEY_FOLDER: folder } });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
  rmSync(folder, { recursive: true });
});

const get = (at: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(agent.url + at, { headers });

async function statusOf(at: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await get(at, headers);
  await answer.body?.cancel();
  return answer.status;
}

const assistant = `/assistants/search`;
const search = async (headers: Record<string, string>): Promise<number> => {
  const answer = await fetch(agent.url + assistant, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  });
  await answer.body?.cancel();
  return answer.status;
};

describe('who may call', () => {
  test('a client with the key, in either header', async () => {
    expect(await search({ 'x-api-key': KEY })).toBe(200);
    expect(await search({ authorization: `Bearer ${KEY}` })).toBe(200);
    const client = new Client({ apiUrl: agent.url, apiKey: KEY });
    const { thread_id } = await client.threads.create();
    expect(
      await client.runs.wait(thread_id, 'chat', {
        input: { messages: [{ role: 'user', content: 'hi' }] },
      }),
    ).toBeTruthy();
  });

  test('nobody without it; the answer says what to send', async () => {
    const answer = await get(assistant.replace('search', crypto.randomUUID()));
    expect([answer.status, await answer.json()]).toEqual([
      401,
      {
        detail:
          "No credentials: send the deployment's key in X-Api-Key, or in Authorization: Bearer.",
      },
    ]);
    expect(answer.headers.get('www-authenticate')).toBe(
      'ApiKey realm="agent", Bearer realm="agent"',
    );
  });

  test('nobody with another key, and the header of a proxy does not help', async () => {
    const wrong = `gxa_${'w'.repeat(43)}`;
    for (const given of [wrong, KEY.slice(0, -1), `${KEY}k`, 'x'])
      expect([given, await search({ 'x-api-key': given })]).toEqual([given, 401]);
    expect(await search({ 'x-api-key': wrong, authorization: `Bearer ${KEY}` })).toBe(401);
    expect(await search({ authorization: `Basic ${KEY}` })).toBe(401);
  });

  test('a header that says that a request comes from Studio grants nothing', async () => {
    expect(await search({ 'x-auth-scheme': 'langsmith' })).toBe(401);
  });

  test('every route but probes, feedback links and components asks for it', async () => {
    const document = (await (await get('/openapi.json', { 'x-api-key': KEY })).json()) as {
      paths: Record<string, Record<string, { security: object[] }>>;
    };
    const all = Object.entries(document.paths).flatMap(([route, operations]) =>
      Object.entries(operations).map(([method, { security }]) => ({
        route,
        method,
        isOpen: security.length === 0,
      })),
    );
    expect(all.length).toBeGreaterThan(40);
    const open = all
      .filter(({ isOpen }) => isOpen)
      .map(({ route, method }) => `${method} ${route}`);
    expect(open.toSorted()).toEqual([
      'get /',
      'get /feedback/tokens/{token}',
      'get /ok',
      'get /ui/{name}/{file}',
      'post /feedback/tokens/{token}',
    ]);
    for (const { route, method } of all.filter(({ isOpen }) => !isOpen)) {
      const url = agent.url + route.replaceAll(/\{\w+\}/g, crypto.randomUUID());
      const answer = await fetch(url, {
        method: method.toUpperCase(),
        headers: { 'content-type': 'application/json' },
        ...(method !== 'get' && { body: '{}' }),
      });
      await answer.body?.cancel();
      expect([method, route, answer.status]).toEqual([method, route, 401]);
    }
  });

  test('probes are open; metrics and what describes the server are not', async () => {
    expect(await statusOf('/ok')).toBe(200);
    for (const closed of ['/metrics', '/info', '/docs', '/openapi.json']) {
      expect([closed, await statusOf(closed)]).toEqual([closed, 401]);
      expect([closed, await statusOf(closed, { 'x-api-key': KEY })]).toEqual([closed, 200]);
    }
  });

  test('a page asks first without the key, as browsers do', async () => {
    const headers = {
      origin: 'https://page.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-api-key',
    };
    const answer = await fetch(agent.url + assistant, { method: 'OPTIONS', headers });
    expect([answer.status, answer.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'x-api-key',
    ]);
  });
});

describe('a WebSocket', () => {
  const protocolOf = (key: string): string => `gx.key.${Buffer.from(key).toString('base64url')}`;
  const at = (): string =>
    `${agent.url.replace('http', 'ws')}/threads/${crypto.randomUUID()}/stream/events`;

  /** Returns the answer to a command, and the protocol that the server chose. */
  async function asked(socket: WebSocket): Promise<[unknown, string]> {
    await once(socket, 'open');
    socket.send(JSON.stringify({ id: 1, method: 'agent.getTree', params: {} }));
    const [frame] = (await once(socket, 'message')) as [Buffer];
    const chosen = socket.protocol;
    socket.terminate();
    return [(JSON.parse(frame.toString()) as { id: unknown }).id, chosen];
  }

  const refused = async (socket: WebSocket): Promise<unknown> =>
    ((await once(socket, 'close')) as [number])[0];

  test('takes the key as a header', async () => {
    expect(await asked(new WebSocket(at(), { headers: { 'x-api-key': KEY } }))).toEqual([1, '']);
  });

  test('takes it as a subprotocol, and repeats it only when no other one is offered', async () => {
    expect(await asked(new WebSocket(at(), [protocolOf(KEY)]))).toEqual([1, protocolOf(KEY)]);
    expect(await asked(new WebSocket(at(), [protocolOf(KEY), 'gx.events']))).toEqual([
      1,
      'gx.events',
    ]);
  });

  test('is refused without it', async () => {
    expect(await refused(new WebSocket(at()))).toBe(4401);
    expect(await refused(new WebSocket(at(), [protocolOf('another key')]))).toBe(4401);
    expect(await refused(new WebSocket(at(), [protocolOf('n\u00f6\n')]))).toBe(4401);
  });
});

describe('a rotation', () => {
  test('needs no restart: both keys open, then the new one alone', async () => {
    writeFileSync(file('previous'), KEY);
    writeFileSync(file('api-key'), NEXT);
    await expect.poll(() => search({ 'x-api-key': NEXT })).toBe(200);
    expect(await search({ 'x-api-key': KEY })).toBe(200);
    rmSync(file('previous'));
    await expect.poll(() => search({ 'x-api-key': KEY })).toBe(401);
    expect(await search({ 'x-api-key': NEXT })).toBe(200);
  });

  test('files that are gone leave the keys that were read', async () => {
    rmSync(file('api-key'));
    await expect
      .poll(async () => (await search({ 'x-api-key': NEXT }), agent.output()))
      .toContain('could not be read again');
    expect([await search({ 'x-api-key': NEXT }), await search({})]).toEqual([200, 401]);
  });

  test('no key is ever logged', () => {
    for (const key of [KEY, NEXT]) expect(agent.output()).not.toContain(key);
  });
});

describe('a start', () => {
  const starts = (env: Record<string, string>) => failedStart({ database: database.uri, env });

  test('fails without a key in the folder, with a weak key, and with two sources', async () => {
    const gone = await starts({ GX_AGENT_KEY_FOLDER: path.join(folder, 'gone') });
    expect([gone.code, gone.output]).toEqual([
      1,
      expect.stringContaining('GX_AGENT_KEY_FOLDER: there is no key to read'),
    ]);
    expect((await starts({ GX_AGENT_KEY: 'short' })).output).toContain(
      'GX_AGENT_KEY must have at least 16 characters',
    );
    expect((await starts({ GX_AGENT_KEY: KEY, GX_AGENT_KEY_FOLDER: folder })).output).toContain(
      'exclude each other',
    );
  });

  test('says who is let in', async () => {
    await expect.poll(() => agent.output()).toContain('"guard":"key"');
    const other = await startAgent({ database: database.uri, env: { GX_AGENT_KEY: KEY } });
    const own = await fetch(`${other.url}/info`, { headers: { 'x-api-key': KEY } });
    expect([own.status, (await fetch(`${other.url}/info`)).status]).toEqual([200, 401]);
    await other.kill();
  });
});
