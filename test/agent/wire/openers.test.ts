import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startIssuer, type Issuer } from '../../control-plane/kit/issuer.ts';
import { a2aCalls, dataMessage, rpc } from '../../kit/a2a-calls.ts';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* By setting, keys of the tenant and tokens of an issuer open an agent beside its own key. */

const KEY = `gxa_${'k'.repeat(43)}`;
const keyOf = (letter: string): string => `gx_${letter.repeat(43)}`;
const ROLES: Record<string, string> = { [keyOf('w')]: 'write', [keyOf('r')]: 'read' };

let agent: AgentProcess;
let issuer: Issuer;
let plane: Server;
let database: Awaited<ReturnType<typeof freshDatabase>>;

/** Stands for the control plane: it knows two keys of the tenant. */
const startPlane = async (): Promise<void> => {
  plane = createServer((request, response) => {
    const role = ROLES[String(request.headers['x-api-key'])];
    response.writeHead(role === undefined ? 401 : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        tenant_id: '00000000-0000-4000-8000-000000000000',
        role,
        subject: `id-of-${role}`,
        name: `the ${role} key`,
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(plane, 'listening');
};

beforeAll(async () => {
  await startPlane();
  issuer = await startIssuer();
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/keys/gx.json',
    env: {
      GX_AGENT_KEY: KEY,
      GX_AUTH_CHECK_URL: `http://127.0.0.1:${(plane.address() as AddressInfo).port}/`,
      GX_DEPLOYMENT_ID: 'the-id',
      GX_AUTH_ISSUER: issuer.url,
      GX_AUTH_AUDIENCE: 'gx, another',
    },
  });
});

afterAll(async () => {
  await agent.kill();
  await issuer.down();
  plane.closeAllConnections();
  plane.close();
  await database.drop();
});

type Headers = Record<string, string>;
type Answered = { status: number; body: { detail?: string; thread_id?: string } };
const post = async (path: string, headers: Headers, body: object = {}): Promise<Answered> => {
  const answer = await fetch(agent.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Answered['body'] };
};
const JSON_TYPE = { 'content-type': 'application/json' };
const rpcText = (method: string): string => JSON.stringify(rpc(method));
const MAY_READ = { message: 'This credential may only read.' };
const byKey = (letter: string): Headers => ({ 'x-api-key': keyOf(letter) });
const byToken = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** Returns the user that a graph sees. */
const userOf = async (headers: Headers): Promise<unknown> => {
  const client = new Client({ apiUrl: agent.url, apiKey: null, defaultHeaders: headers });
  return ((await client.runs.wait(null, 'who', { input: { said: 'hi' } })) as { user?: unknown })
    .user;
};

test('the key of the deployment opens it all the same, and names nobody', async () => {
  expect((await post('/threads', { 'x-api-key': KEY })).status).toBe(200);
  expect(await userOf({ 'x-api-key': KEY })).toBeNull();
});

describe('a key of the tenant', () => {
  test('that may write does everything, and the graph learns whose it is', async () => {
    expect((await post('/threads', byKey('w'))).status).toBe(200);
    expect(await userOf(byKey('w'))).toMatchObject({
      identity: 'id-of-write',
      display_name: 'the write key',
      permissions: ['write'],
    });
  });

  test('that may read reads, and changes nothing', async () => {
    const { body } = await post('/threads', { 'x-api-key': KEY });
    expect((await post('/threads/search', byKey('r'))).status).toBe(200);
    expect(
      (await fetch(`${agent.url}/threads/${body.thread_id}`, { headers: byKey('r') })).status,
    ).toBe(200);
    for (const [path, sent] of [
      ['/threads', {}],
      [`/threads/${body.thread_id}/runs`, { assistant_id: 'who', input: {} }],
      ['/runs/wait', { assistant_id: 'who', input: {} }],
    ] as const)
      expect(await post(path, byKey('r'), sent)).toEqual({
        status: 403,
        body: { detail: 'This credential may only read.' },
      });
  });

  test('that may read follows a run, and may not ask for its end by leaving', async () => {
    const writes = new Client({ apiUrl: agent.url, apiKey: null, defaultHeaders: byKey('w') });
    const { thread_id } = await writes.threads.create();
    const { run_id } = await writes.runs.create(thread_id, 'who', { input: { said: 'hi' } });
    const run = `/threads/${thread_id}/runs/${run_id}`;
    for (const path of [`${run}/stream`, `/runs/${run_id}/stream`, `${run}/join`]) {
      expect([path, (await fetch(agent.url + path, { headers: byKey('r') })).status]).toEqual([
        path,
        200,
      ]);
      const refused = await fetch(`${agent.url}${path}?cancel_on_disconnect=true`, {
        headers: byKey('r'),
      });
      expect([path, refused.status, await refused.json()]).toEqual([
        path,
        403,
        { detail: MAY_READ.message },
      ]);
    }
  });

  test('that may read lists tools, and calls none', async () => {
    const accept = { ...byKey('r'), accept: 'application/json, text/event-stream' };
    for (const method of ['tools/list', 'ping'])
      expect(
        (
          await fetch(`${agent.url}/mcp`, {
            method: 'POST',
            headers: { ...accept, ...JSON_TYPE },
            body: rpcText(method),
          })
        ).status,
      ).toBe(200);
    for (const body of [
      rpc('tools/call', { name: 'who', arguments: {} }),
      [rpc('ping'), rpc('tools/call', { name: 'who' })],
    ])
      expect(await post('/mcp', accept, body)).toMatchObject({
        status: 403,
        body: { jsonrpc: '2.0', error: MAY_READ },
      });
  });

  test('that may read looks at cards and tasks, and gives none', async () => {
    const writes = a2aCalls({ url: agent.url, headers: byKey('w') });
    const reads = a2aCalls({ url: agent.url, headers: byKey('r') });
    const task = await writes.send('who', dataMessage({ said: 'hi' }));
    const taskId = task.id;
    expect(await reads.get('who', taskId)).toEqual(task);
    expect(await reads.call('who', 'ListTasks', { contextId: task.contextId })).toMatchObject({
      totalSize: 1,
    });
    expect(await reads.call('who', 'ListTaskPushNotificationConfigs', { taskId })).toEqual({});
    expect(await reads.call('who', 'GetExtendedAgentCard')).toMatchObject({ name: 'who' });
    const url = 'https://example.com/hook';
    for (const [method, params] of [
      ['SendMessage', dataMessage({ said: 'hi' })],
      ['SendStreamingMessage', dataMessage({ said: 'hi' })],
      ['CancelTask', { id: taskId }],
      ['CreateTaskPushNotificationConfig', { taskId, url }],
      ['DeleteTaskPushNotificationConfig', { taskId, id: 'one' }],
      ['message/send', {}],
      ['tasks/pushNotificationConfig/set', {}],
    ] as const)
      expect(await post('/a2a/who', byKey('r'), rpc(method, params))).toMatchObject({
        status: 403,
        body: { jsonrpc: '2.0', error: MAY_READ },
      });
  });

  test('or what else opens the agent is named by its card, in the words of both versions', async () => {
    const card = await (await fetch(`${agent.url}/a2a/who`, { headers: byKey('r') })).json();
    expect(card).toMatchObject({
      capabilities: { extendedAgentCard: true },
      supportsAuthenticatedExtendedCard: true,
      securitySchemes: {
        ApiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Api-Key',
          apiKeySecurityScheme: { location: 'header', name: 'X-Api-Key' },
        },
        Bearer: { type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'bearer' } },
      },
      securityRequirements: [
        { schemes: { ApiKey: { list: [] } } },
        { schemes: { Bearer: { list: [] } } },
      ],
      security: [{ ApiKey: [] }, { Bearer: [] }],
    });
    expect((await fetch(`${agent.url}/a2a/who`)).status).toBe(401);
  });

  test('that may read starts no run over a WebSocket either', async () => {
    const socket = new WebSocket(
      `${agent.url.replace('http', 'ws')}/threads/${crypto.randomUUID()}/stream/events`,
      {
        headers: byKey('r'),
      },
    );
    await once(socket, 'open');
    socket.send(
      JSON.stringify({ id: 1, method: 'run.start', params: { assistant_id: 'who', input: {} } }),
    );
    const [frame] = (await once(socket, 'message')) as [Buffer];
    expect(JSON.parse(frame.toString())).toMatchObject({
      type: 'error',
      id: 1,
      message: 'This credential may only read.',
    });
    socket.terminate();
  });

  test('of another tenant is refused', async () => {
    expect(await post('/threads', byKey('x'))).toEqual({
      status: 401,
      body: { detail: 'The key in X-Api-Key does not open this deployment.' },
    });
  });
});

describe('a token of the issuer', () => {
  test('opens the agent, and the graph learns who called', async () => {
    const token = await issuer.token({ sub: 'ann', name: 'Ann', scope: 'chat admin', team: 'red' });
    expect((await post('/threads', byToken(token))).status).toBe(200);
    const user = await userOf(byToken(token));
    expect(user).toMatchObject({
      identity: 'ann',
      display_name: 'Ann',
      permissions: ['chat', 'admin'],
      claims: { team: 'red' },
    });
  });

  test.each([
    ['for another audience', { aud: 'elsewhere' }, 'The bearer token is for another audience.'],
    [
      'of another issuer',
      { iss: 'https://other.example' },
      'The bearer token was issued by another issuer.',
    ],
    ['that has expired', { exp: 1 }, 'The bearer token has expired.'],
    ['without a subject', { sub: undefined }, 'The bearer token has no subject.'],
  ])('%s is refused', async (_, claims, detail) => {
    expect(await post('/threads', byToken(await issuer.token(claims)))).toEqual({
      status: 401,
      body: { detail },
    });
  });

  test('that somebody else signed is refused, and so is what is no token', async () => {
    const forged = await issuer.token({}, { key: await issuer.rotate({ publish: 'not' }) });
    expect((await post('/threads', byToken(forged))).status).toBe(401);
    expect((await post('/threads', byToken('nonsense'))).body).toEqual({
      detail: 'The bearer token is not a signed JSON Web Token.',
    });
  });

  test('does not count beside a key that is wrong', async () => {
    expect(
      (await post('/threads', { ...byToken(await issuer.token()), ...byKey('x') })).status,
    ).toBe(401);
  });
});

describe('a token of an issuer whose tokens name roles', () => {
  let strict: AgentProcess;
  beforeAll(async () => {
    const env = {
      GX_AUTH_ISSUER: issuer.url,
      GX_AUTH_AUDIENCE: 'gx',
      GX_AUTH_ROLE_CLAIM: 'realm.roles',
    };
    strict = await startAgent({
      database: database.uri,
      config: 'test/agent/wire/keys/gx.json',
      env,
    });
  });
  afterAll(() => strict.kill());

  const statuses = async (claims: Record<string, unknown>): Promise<number[]> => {
    const headers = { 'content-type': 'application/json', ...byToken(await issuer.token(claims)) };
    const asked = ['/threads/search', '/threads'].map((path) =>
      fetch(strict.url + path, { method: 'POST', headers, body: '{}' }),
    );
    return (await Promise.all(asked)).map(({ status }) => status);
  };

  test.each([
    ['write', { realm: { roles: ['other', 'write'] } }, [200, 200]],
    ['admin, in a text of words', { realm: { roles: 'admin other' } }, [200, 200]],
    ['read', { realm: { roles: ['read'] } }, [200, 403]],
    ['another word', { realm: { roles: ['writer'] } }, [403, 403]],
    ['nothing', {}, [403, 403]],
  ])('that names %s', async (_, claims, expected) => {
    expect(await statuses(claims)).toEqual(expected);
  });

  test('is told which claim it lacks', async () => {
    const headers = { 'content-type': 'application/json', ...byToken(await issuer.token({})) };
    const answer = await fetch(`${strict.url}/threads`, { method: 'POST', headers, body: '{}' });
    expect(await answer.json()).toEqual({
      detail:
        'The bearer token grants no permission: its claim realm.roles names none of read, write and admin.',
    });
  });
});

test('whoever shows nothing is told all that would help', async () => {
  const { status, body } = await post('/threads', {});
  expect([status, body.detail]).toEqual([
    401,
    "No credentials: send the deployment's key in X-Api-Key, or in Authorization: Bearer; or a key of its tenant; or a token of the issuer in Authorization: Bearer.",
  ]);
});

test.each([
  [
    { GX_AUTH_CHECK_URL: 'http://plane.example' },
    'GX_AUTH_CHECK_URL is set without GX_DEPLOYMENT_ID',
  ],
  [{ GX_AUTH_ISSUER: 'https://id.example' }, 'GX_AUTH_AUDIENCE is not set'],
  [
    { GX_AUTH_ISSUER: 'http://id.example', GX_AUTH_AUDIENCE: 'a' },
    'GX_AUTH_ISSUER must be an https address',
  ],
  [{ GX_AUTH_AUDIENCE: 'a' }, 'need GX_AUTH_ISSUER'],
])('%o keeps the server from starting', async (env, sentence) => {
  expect((await failedStart({ database: database.uri, env })).output).toContain(sentence);
});
