import { request } from 'node:http';
import { Type } from 'typebox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentCaller } from '../../src/agent/auth/caller.ts';
import { buildCorsMiddleware, buildOriginCheck } from '../../src/agent/front/cors.ts';
import {
  LOCAL_CORS,
  buildLocalCors,
  buildLocalPageGuard,
} from '../../src/agent/front/local-pages.ts';
import { answerJson, buildRouteMaker } from '../../src/http/routes/route.ts';
import type { AppOptions } from '../../src/http/server/server.ts';
import { plain, serve } from '../http/kit.ts';

let server: Awaited<ReturnType<typeof serve>>;
let open: Awaited<ReturnType<typeof serve>>;

type Middleware = NonNullable<AppOptions<AgentCaller>['middleware']>;
const start = (loopback: boolean) => {
  const takesAnyBody = (method: string, path: string): boolean =>
    method === 'POST' && path === '/upload';
  const middleware: Middleware = [
    buildLocalPageGuard(LOCAL_CORS, { loopback, takesAnyBody }),
    buildCorsMiddleware(LOCAL_CORS, { privateNetwork: false }),
  ];
  const echo = {
    ...plain,
    method: 'post',
    path: '/runs',
    body: Type.Object({}),
    bodyOptional: true,
    handler: () => answerJson('ran'),
  } as const;
  const upload = {
    ...plain,
    method: 'post',
    path: '/upload',
    handler: () => answerJson('kept'),
  } as const;
  return serve([buildRouteMaker<string>()(echo), buildRouteMaker<string>()(upload)], {
    middleware,
  });
};
beforeAll(async () => {
  server = await start(true);
  open = await start(false);
});
afterAll(async () => {
  await server.stop();
  await open.stop();
});

const JSON_BODY = { 'content-type': 'application/json' };
type Answer = { status: number | undefined; allowed: string | undefined };

/** Sends what a browser would, which `fetch` does not let anybody forge. */
const post = (
  port: number,
  headers: Record<string, string>,
  body = '{}',
  [method, path] = ['POST', '/runs'],
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path, method, headers }, (answer) => {
      answer.resume();
      resolve({
        status: answer.statusCode,
        allowed: answer.headers['access-control-allow-origin'],
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });

test.each([
  ['no page, as curl and the SDKs send', {}, 200],
  ['a page of this machine', { origin: 'http://localhost:3000' }, 200],
  ['a page of this machine by its address', { origin: 'http://127.0.0.1:5173' }, 200],
  ['Studio', { origin: 'https://smith.langchain.com' }, 200],
  ['Studio of a region', { origin: 'https://eu.smith.langchain.com' }, 200],
  ['a page of the web', { origin: 'https://evil.example' }, 403],
  ['a page whose name begins like this machine', { origin: 'http://localhost.evil.example' }, 403],
  ['a page whose name ends like Studio', { origin: 'https://evilsmith.langchain.com' }, 403],
  ['a page without an origin, such as a file', { origin: 'null' }, 403],
  [
    "a page of the web by another name of this machine's address",
    { host: 'evil.example:2024' },
    403,
  ],
  [
    'the same that also says where it is from',
    { host: 'evil.example:2024', origin: 'http://evil.example:2024' },
    403,
  ],
])('a request from %s', async (_, headers, status) => {
  expect((await post(server.port, { ...JSON_BODY, ...headers })).status).toBe(status);
});

test.each([
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['multipart/form-data; boundary=a', 415],
  ['', 415],
  ['application/json; charset=utf-8', 200],
])('a body of type "%s" is answered with %i', async (type, status) => {
  expect((await post(server.port, type === '' ? {} : { 'content-type': type })).status).toBe(
    status,
  );
});

test.each([
  ['a program', {}, 200],
  ['a page of this machine', { origin: 'http://localhost:3000' }, 200],
  ['a page of the server itself', { 'sec-fetch-site': 'same-origin' }, 200],
  ['a page of the web', { origin: 'https://evil.example' }, 403],
  ['a page of the web that hides its origin', { 'sec-fetch-site': 'cross-site' }, 415],
])('a form for a route of the user, from %s', async (_, headers, status) => {
  const form = { 'content-type': 'multipart/form-data; boundary=a', ...headers };
  expect((await post(server.port, form, '--a--', ['POST', '/upload'])).status).toBe(status);
});

test('a request without a body needs no type', async () => {
  expect((await post(server.port, { 'content-length': '0' }, '')).status).toBe(200);
});

test('a browser that asks first is told that a page of the web may not call', async () => {
  const asks = { 'access-control-request-method': 'POST' };
  const answers = await Promise.all(
    ['https://evil.example', 'http://localhost:3000'].map((origin) =>
      post(server.port, { ...asks, origin }, '', ['OPTIONS', '/runs']),
    ),
  );
  expect(answers).toEqual([
    { status: 403, allowed: undefined },
    { status: 204, allowed: 'http://localhost:3000' },
  ]);
});

test('a server for other machines answers under any name, to its own pages and not to others', async () => {
  const host = 'laptop.local:2024';
  const answers = await Promise.all(
    [{ host }, { host, origin: `http://${host}` }, { host, origin: 'http://other.local' }].map(
      (headers) => post(open.port, { ...JSON_BODY, ...headers }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 403]);
});

const EVIL = 'https://evil.example';

test.each([
  ['an asterisk', { allow_origins: ['*'] }],
  [
    'an asterisk among others',
    { allow_origins: ['https://chat.example', '*'], allow_credentials: true },
  ],
  ['a pattern for all', { allow_origin_regex: 'https?://.*' }],
  [
    'an asterisk beside a pattern',
    { allow_origins: ['*'], allow_origin_regex: 'https://chat[.]example' },
  ],
  ['headers alone', { allow_headers: ['x-mine'] }],
  ['nothing', {}],
])('on a machine of a developer, %s opens the server to no page of the web', async (_, given) => {
  const settings = buildLocalCors(given);
  const permits = buildOriginCheck(settings);
  expect([
    permits(EVIL),
    permits('http://localhost:3000'),
    permits('https://smith.langchain.com'),
  ]).toEqual([false, true, true]);
  const named = JSON.stringify(given).includes('chat');
  expect(permits('https://chat.example')).toBe(named);
  expect(settings).toMatchObject({
    ...given,
    allow_origins: expect.any(Array),
    allow_origin_regex: expect.any(String),
  });
});

test('whoever names origins alone gets those alone', () => {
  for (const given of [
    { allow_origins: ['https://chat.example'] },
    { allow_origin_regex: 'https://[a-z]+[.]chat[.]example' },
  ])
    expect(buildLocalCors(given)).toBe(given);
});
