import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey, deleteApiKey } from '../../../src/control-plane/auth/keys.ts';
import { messagesOf } from '../../control-plane/kit/event-stream.ts';
import {
  creation,
  startPlane,
  TENANT_A,
  type Plane,
} from '../../control-plane/kit/api-server-plane.ts';
import { joinSockets } from '../../kit/tcp-proxy.ts';
import { until } from '../../kit/until.ts';
import { Browser, openConsole, secretFile, type RunningConsole } from '../kit.ts';

/* The console in front of a real control plane, whose address stays when it is another process. */

const sockets = new Set<Socket>();
let target = 0;
const service = createServer((client) =>
  joinSockets(client, connect(target, '127.0.0.1'), sockets),
);

let plane: Plane;
let running: RunningConsole;
beforeAll(async () => {
  const clientKeyFile = secretFile();
  plane = await startPlane('console', { clientKeyFile });
  target = Number(new URL(plane.url).port);
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  const at = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  running = await openConsole(at, { clientKeyFile, trustedProxies: ['127.0.0.1'] });
});
afterAll(async () => {
  await running.stop();
  await plane.stop();
  for (const socket of sockets) socket.destroy();
  service.close();
});

async function signedIn(key: string): Promise<Browser> {
  const browser = new Browser(running.url);
  expect((await browser.signIn(key)).status).toBe(200);
  return browser;
}

const made = async (browser: Browser, name: string): Promise<Response> =>
  browser.ask('api/v2/deployments', {
    method: 'POST',
    body: {
      ...creation(name),
      source_config: { resource_spec: {}, listener_id: await listenerId(browser) },
    },
  });

const listenerId = async (browser: Browser): Promise<string> => {
  const { resources } = (await (await browser.ask('api/v2/listeners')).json()) as {
    resources: { id: string }[];
  };
  return resources[0]!.id;
};

test('who signs in sees the deployments of the own tenant alone, and a key that only reads changes nothing', async () => {
  const writer = await signedIn(plane.keys.write);
  const created = await made(writer, 'seen');
  expect([created.status, await created.json()]).toMatchObject([201, { name: 'seen' }]);
  const names = async (browser: Browser): Promise<string[]> => {
    const { resources } = (await (await browser.ask('api/v2/deployments')).json()) as {
      resources: { name: string }[];
    };
    return resources.map(({ name }) => name);
  };
  expect(await names(await signedIn(plane.keys.read))).toEqual(['seen']);
  expect(await names(await signedIn(plane.keys.other))).toEqual([]);
  const reader = await signedIn(plane.keys.read);
  const refused = await made(reader, 'refused');
  expect([refused.status, await refused.json()]).toEqual([
    403,
    { detail: 'This key may only read; the request needs the role write.' },
  ]);
  const foreign = await reader.ask('api/v2/deployments', {
    headers: { 'x-tenant-id': '11111111-1111-4111-8111-111111111111' },
  });
  expect(foreign.status).toBe(403);
  expect(await (await reader.ask('session')).json()).toMatchObject({
    signed_in: true,
    name: 'reader',
    role: 'read',
    tenant_id: TENANT_A,
  });
});

test('the control plane knows the client behind the console, and no other word counts', async () => {
  const browser = await signedIn(plane.keys.write);
  const headers = { 'x-forwarded-for': '203.0.113.7' };
  await browser.ask('api/v2/deployments', {
    method: 'POST',
    body: creation('by-console'),
    headers,
  });
  const body = JSON.stringify(creation('direct'));
  const own = { 'x-api-key': plane.keys.write, 'content-type': 'application/json' };
  await fetch(`${plane.url}/v2/deployments`, {
    method: 'POST',
    body,
    headers: { ...headers, ...own },
  });
  const sources = (): unknown[] =>
    plane
      .logged()
      .split('\n')
      .filter((line) => line.includes('"createDeployment"') && line.includes('"audit":true'))
      .map((line) => (JSON.parse(line) as { source: unknown }).source);
  await expect.poll(() => sources().slice(-2)).toEqual(['203.0.113.7', '127.0.0.1']);
});

test('a wrong key is refused in a sentence', async () => {
  const browser = new Browser(running.url);
  const answer = await browser.signIn(`gx_${'x'.repeat(65)}`);
  expect([answer.status, await answer.json()]).toEqual([
    401,
    { detail: 'The API key is not known, or has expired.' },
  ]);
  expect(browser.cookies.size).toBe(0);
});

test('a body that the control plane finds too large is refused by its words', async () => {
  const browser = await signedIn(plane.keys.write);
  const answer = await browser.ask('api/v2/deployments', {
    method: 'POST',
    body: 'x'.repeat(5 * 1024 * 1024),
  });
  expect([answer.status, await answer.json()]).toEqual([
    413,
    { detail: expect.stringContaining('Request body is larger than') },
  ]);
});

test('changes are seen as they come, through one stream', async () => {
  const browser = await signedIn(plane.keys.write);
  const reader = new AbortController();
  const messages = messagesOf(await browser.ask('api/v2/events', { signal: reader.signal }));
  expect((await made(browser, 'streamed')).status).toBe(201);
  for await (const { data } of messages) if (JSON.stringify(data).includes('streamed')) break;
  reader.abort();
});

test('a key that is revoked ends the stream and the session, which says why', async () => {
  const { key, id } = await createKey(plane.kube, plane.namespace, {
    name: 'short',
    tenantId: TENANT_A,
    role: 'read',
  });
  const browser = await signedIn(key);
  const stream = await browser.ask('api/v2/events');
  const ended = stream.text();
  await deleteApiKey(plane.kube, plane.namespace, id);
  await until(
    'the key is not taken any more',
    async () => (await browser.ask('api/v2/deployments')).status === 401,
  );
  const refused = await browser.ask('api/v2/deployments');
  const why = {
    detail: 'The API key of this session is not valid any more; sign in with another one.',
    reason: 'revoked',
  };
  expect([refused.status, await refused.json()]).toEqual([401, why]);
  expect(await (await browser.ask('session')).json()).toEqual({
    signed_in: false,
    options: { api_key: true },
    reason: 'revoked',
  });
  await ended;
  expect((await browser.signIn(plane.keys.read)).status).toBe(200);
  expect((await browser.ask('api/v2/deployments')).status).toBe(200);
});

test('a control plane that restarts is away for a while, in a sentence, and the session goes on', async () => {
  const browser = await signedIn(plane.keys.read);
  expect((await browser.ask('api/v2/deployments')).status).toBe(200);
  const before = target;
  target = 9;
  for (const socket of sockets) socket.destroy();
  const away = await browser.ask('api/v2/deployments');
  expect([away.status, await away.json()]).toMatchObject([
    503,
    { detail: expect.stringContaining('control plane') },
  ]);
  const asked = await browser.ask('session');
  expect([asked.status, await asked.json()]).toMatchObject([
    503,
    { detail: expect.stringContaining('control plane') },
  ]);
  const next = await plane.replica();
  target = Number(new URL(next.url).port);
  await until('it is back', async () => (await browser.ask('api/v2/deployments')).status === 200);
  target = before;
  for (const socket of sockets) socket.destroy();
  await next.stop();
});

test('another replica of the console with the same secret knows the session', async () => {
  const other = await openConsole(plane.url);
  const first = await signedIn(plane.keys.read);
  const second = new Browser(other.url);
  const headers = { origin: 'https://gx.example.com' };
  await first.ask('session', { method: 'POST', body: { api_key: plane.keys.read }, headers });
  second.cookies = new Map(first.cookies);
  expect((await second.ask('api/v2/deployments')).status).toBe(200);
  await other.stop();
});
