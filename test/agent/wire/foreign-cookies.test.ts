import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Browsers send a visitor's cookies with what any page asks of a server that knows the visitor by them. */

let agent: AgentProcess;
let behindProxy: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

const LISTED = 'https://chat.example.com';

beforeAll(async () => {
  database = await freshDatabase();
  const cors = { allow_origins: ['*', LISTED] };
  const env = { GX_CORS_CONFIG: JSON.stringify(cors) };
  agent = await startAgent({ database: database.uri, env });
  behindProxy = await startAgent({
    database: database.uri,
    env: { ...env, GX_TRUSTED_PROXIES: '127.0.0.1' },
  });
});

afterAll(async () => {
  await Promise.all([agent.kill(), behindProxy.kill()]);
  await database.drop();
});

const cookie = 'session=of-the-visitor';

/** Headers of browsers, which `fetch` does not let anybody forge. */
const SENT: [string, Record<string, string>, boolean][] = [
  ['a page of the web, with cookies', { origin: 'https://evil.example', cookie }, false],
  ['a page of the web, without', { origin: 'https://evil.example' }, true],
  ['a page without an origin, with cookies', { origin: 'null', cookie }, false],
  ['a page that gx.json names, with cookies', { origin: LISTED, cookie }, true],
  [
    'a page of a host that anybody may have written, with cookies',
    { origin: 'https://app.example.com', 'x-forwarded-host': 'app.example.com', cookie },
    false,
  ],
  [
    'a page of the same origin, as the browser says',
    { origin: 'https://app.example.com', 'sec-fetch-site': 'same-origin', cookie },
    true,
  ],
  [
    'a page of a neighbour, as the browser says',
    { origin: 'https://b.example.com', 'sec-fetch-site': 'same-site', cookie },
    false,
  ],
  ['a program with cookies', { cookie }, true],
];

const post = (headers: Record<string, string>, { url } = agent): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request(
      `${url}/threads`,
      { method: 'POST', headers: { 'content-type': 'text/plain', ...headers } },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    );
    sent.once('error', reject);
    sent.end('{}');
  });

const connect = async (headers: Record<string, string>, { url: at } = agent): Promise<string> => {
  const url = `${at.replace('http', 'ws')}/threads/${crypto.randomUUID()}/stream/events`;
  const socket = new WebSocket(url, { headers });
  const { promise, resolve } = Promise.withResolvers<string>();
  const subscribe = { id: 1, method: 'subscription.subscribe', params: { channels: ['values'] } };
  socket.on('open', () => socket.send(JSON.stringify(subscribe)));
  socket.on('message', () => resolve('heard'));
  socket.on('close', (code) => resolve(`closed ${code}`));
  const heard = await promise;
  socket.close();
  return heard;
};

describe('what a browser sends', () => {
  test.each(SENT)(
    '%s: a request acts in the name of its visitor or not at all',
    async (_, headers, passes) => {
      expect(await post(headers)).toBe(passes ? 200 : 403);
    },
  );

  test.each(SENT)('%s: a WebSocket does, too', async (_, headers, passes) => {
    expect(await connect(headers)).toBe(passes ? 'heard' : 'closed 4403');
  });

  test.each([
    ['the host that a trusted proxy names', 'app.example.com', true],
    ['a host that the proxy did not name last', 'app.example.com, other.example.com', false],
  ])('a page of %s, with cookies', async (_, host, passes) => {
    const headers = { origin: 'https://app.example.com', 'x-forwarded-host': host, cookie };
    expect(await post(headers, behindProxy)).toBe(passes ? 200 : 403);
    expect(await connect(headers, behindProxy)).toBe(passes ? 'heard' : 'closed 4403');
  });

  test('the page of the server itself, with cookies', async () => {
    expect(await post({ origin: agent.url, cookie })).toBe(200);
    expect(await connect({ origin: agent.url, cookie })).toBe('heard');
  });
});
