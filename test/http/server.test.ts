import { Type } from 'typebox';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Forbidden, Problem, Unauthorized, Unavailable } from '../../src/errors.ts';
import { listen } from '../../src/http/server/listen.ts';
import { answerJson, answerNoContent, answerText } from '../../src/http/routes/route.ts';
import { createApp } from '../../src/http/server/server.ts';
import { createLog } from '../../src/log.ts';
import { limits, plain, route, serve } from './kit.ts';

const Body = Type.Object({ name: Type.String() }, { additionalProperties: false });
const failing: Record<string, Error> = {
  unavailable: new Unavailable('The cluster does not answer.'),
  bug: new Error('password=hunter2'),
  teapot: new Problem(418, 'short and stout', { headers: { 'x-kind': 'teapot' } }),
};

let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  server = await serve(
    [
      route({
        ...plain,
        method: 'post',
        path: '/echo',
        body: Body,
        handler: ({ body }) => answerJson(body, 201),
      }),
      route({
        ...plain,
        method: 'post',
        path: '/optional',
        body: Type.Object({}),
        bodyOptional: true,
        handler: ({ body }) => answerJson(body),
      }),
      route({
        ...plain,
        method: 'get',
        path: '/fail/{how}',
        params: Type.Object({ how: Type.String() }),
        handler: ({ params }) => Promise.reject(failing[params.how] as Error),
      }),
      route({ ...plain, method: 'delete', path: '/gone', handler: () => answerNoContent() }),
      route({ ...plain, method: 'get', path: '/text', handler: () => answerText('hello') }),
      route({
        ...plain,
        method: 'post',
        path: '/guarded-body',
        access: 'write',
        body: Body,
        handler: () => answerJson({}),
      }),
      route({
        ...plain,
        method: 'get',
        path: '/guarded',
        access: 'write',
        handler: ({ caller }) => answerJson({ caller }),
      }),
    ],
    {
      authenticate: (headers, access) => {
        if (access === 'open') return 'anybody';
        if (headers['x-key'] === undefined) throw new Unauthorized('no key');
        if (headers['x-key'] !== 'good') throw new Forbidden('not yours');
        return 'the owner';
      },
    },
  );
});
afterAll(() => server.stop());

const post = (
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Response> => fetch(`${server.url}${path}`, { method: 'POST', body, headers });

describe('a request that the parser gives up on', () => {
  test.each([
    [
      'headers of more than 64 kB',
      431,
      { 'x-long': 'a'.repeat(70_000) },
      'Address and headers of the request are too large.',
    ],
    ['no valid length', 400, { 'content-length': 'many' }, 'The request is not valid HTTP.'],
  ])('%s is answered with %i and a detail', async (_, status, headers, detail) => {
    const socket = connect(server.port, '127.0.0.1');
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET /text HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n`);
    const [head, body] = (await readAll(socket)).split('\r\n\r\n');
    expect([head?.split(' ')[1], JSON.parse(body ?? '')]).toEqual([String(status), { detail }]);
  });

  test('headers of 40 kB are read', async () => {
    const response = await fetch(`${server.url}/text`, {
      headers: { 'x-long': 'a'.repeat(40_000) },
    });
    expect(response.status).toBe(200);
  });
});

describe('a request', () => {
  test('is answered with its id', async () => {
    const response = await fetch(`${server.url}/text`, { headers: { 'x-request-id': 'mine' } });
    expect([response.status, response.headers.get('x-request-id'), await response.text()]).toEqual([
      200,
      'mine',
      'hello',
    ]);
    expect((await fetch(`${server.url}/text`)).headers.get('x-request-id')).toMatch(
      /^[0-9a-f-]{36}$/,
    );
    for (const odd of ['a'.repeat(129), 'a b', '{"a":1}'])
      expect(
        (await fetch(`${server.url}/text`, { headers: { 'x-request-id': odd } })).headers.get(
          'x-request-id',
        ),
      ).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each([
    ['a right body', '{"name":"a"}', 201, { name: 'a' }],
    [
      'text that is no JSON',
      '{',
      422,
      { detail: [{ loc: ['body'], msg: 'Invalid JSON in request body', type: 'json_invalid' }] },
    ],
    [
      'bytes that are no UTF-8',
      new Uint8Array([0x22, 0xff, 0x22]),
      422,
      { detail: [{ loc: ['body'], msg: 'Invalid JSON in request body', type: 'json_invalid' }] },
    ],
    ['no body', '', 422, { detail: [{ loc: ['body'], msg: 'Field required', type: 'missing' }] }],
    [
      'a body beyond the limit',
      JSON.stringify({ name: 'x'.repeat(2000) }),
      413,
      { detail: 'Request body is larger than 1000 bytes' },
    ],
  ])('with %s', async (_, body, status, answer) => {
    const response = await post('/echo', body);
    expect([response.status, await response.json()]).toEqual([status, answer]);
  });

  test('whose body grows beyond the limit without saying so is answered with 413', async () => {
    const status = await new Promise((resolve, reject) => {
      const sent = httpRequest(
        `${server.url}/echo`,
        { method: 'POST', headers: { 'transfer-encoding': 'chunked' } },
        (response) => {
          resolve(response.statusCode);
          response.resume();
        },
      );
      sent.on('error', reject);
      for (let index = 0; index < 5; index += 1) sent.write('x'.repeat(500));
      sent.end();
    });
    expect(status).toBe(413);
  });

  test.each([
    ['with more fields and items than its size allows', `{"name":[${'0,'.repeat(200_000)}0]}`, 413],
    [
      'with too many different names',
      JSON.stringify(Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`n${at}`, 0]))),
      413,
    ],
    ['nested too deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 422],
  ])('%s is refused before it is parsed', async (_, body, status) => {
    const roomy = await serve(
      [
        route({
          ...plain,
          method: 'post',
          path: '/echo',
          body: Body,
          handler: () => answerJson('reached', 201),
        }),
      ],
      {
        body: limits(1_000_000),
      },
    );
    const response = await fetch(`${roomy.url}/echo`, { method: 'POST', body });
    expect([response.status, JSON.stringify(await response.json())]).toEqual([
      status,
      expect.stringMatching(/more than|nested deeper than 1000/) as string,
    ]);
    await roomy.stop();
  });

  test('that only selects has a smaller limit than one that brings content', async () => {
    const shared = {
      ...plain,
      method: 'post',
      body: Type.Object({}),
      handler: () => answerJson('reached', 201),
    } as const;
    const two = await serve([
      route({ ...shared, path: '/content' }),
      route({ ...shared, path: '/selection', id: 'selection', selects: true }),
    ]);
    const body = JSON.stringify({ name: 'x'.repeat(500) });
    const asked = await Promise.all(
      ['/content', '/selection'].map((path) =>
        fetch(`${two.url}${path}`, { method: 'POST', body }),
      ),
    );
    expect(asked.map(({ status }) => status)).toEqual([201, 413]);
    await two.stop();
  });

  test('whose body is not read before its caller is known', async () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.write('POST /guarded-body HTTP/1.1\r\nhost: a\r\ncontent-length: 900\r\n\r\n{');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString().split(' ')[1]).toBe('401');
    socket.destroy();
  });

  test('that is taken as it is must be admitted, and come in time', async () => {
    const held: string[] = [];
    const admit = ({ source, bytes }: { source: string; bytes: number }): (() => void) => {
      held.push(`${source} ${bytes}`);
      return () => void held.pop();
    };
    const raw = await serve([
      route({
        ...plain,
        method: 'post',
        path: '/raw',
        rawBody: { bytes: 100 },
        admission: { seconds: 0.2, admit },
        handler: () => answerJson(held.length),
      }),
    ]);
    expect(await (await fetch(`${raw.url}/raw`, { method: 'POST', body: 'x' })).text()).toBe('1');
    const socket = connect(raw.port, '127.0.0.1');
    socket.write('POST /raw HTTP/1.1\r\nhost: a\r\ncontent-length: 90\r\n\r\n{');
    await expect.poll(() => held).toEqual(['127.0.0.1 90']);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString().split(' ')[1]).toBe('408');
    await once(socket, 'close');
    expect(held).toEqual([]);
    await raw.stop();
  });

  test('of everybody needs somebody who says what is read of it', async () => {
    const { admission: _, ...open } = plain;
    const routes = [
      route({
        ...open,
        id: 'careless',
        method: 'post',
        path: '/any',
        body: Body,
        handler: () => answerJson({}),
      }),
    ];
    await expect(serve(routes)).rejects.toThrow(
      'The route careless reads bodies of everybody, so it needs an admission.',
    );
  });

  test('may leave out an optional body', async () => {
    const response = await fetch(`${server.url}/optional`, { method: 'POST' });
    expect([response.status, await response.json()]).toEqual([200, {}]);
  });

  test.each([
    ['GET', '/nowhere', 404, { detail: 'Not Found' }],
    ['PUT', '/echo', 405, { detail: 'Method Not Allowed' }],
    ['DELETE', '/gone', 204, undefined],
    ['GET', '/fail/unavailable', 503, { detail: 'The cluster does not answer.' }],
    ['GET', '/fail/bug', 500, { detail: 'Internal Server Error' }],
    ['GET', '/fail/teapot', 418, { detail: 'short and stout' }],
    ['GET', '/guarded', 401, { detail: 'no key' }],
  ])('%s %s is answered with %i', async (method, path, status, answer) => {
    const response = await fetch(`${server.url}${path}`, { method });
    const body = await response.text();
    expect([response.status, body === '' ? undefined : JSON.parse(body)]).toEqual([status, answer]);
  });

  test('says which methods a path knows', async () => {
    expect((await fetch(`${server.url}/echo`, { method: 'PUT' })).headers.get('allow')).toBe(
      'POST',
    );
  });

  test('reaches a guarded handler with the caller that its headers name', async () => {
    const ask = (key: string): Promise<Response> =>
      fetch(`${server.url}/guarded`, { headers: { 'x-key': key } });
    expect((await ask('bad')).status).toBe(403);
    expect(await (await ask('good')).json()).toEqual({ caller: 'the owner' });
  });

  test('that fails by a bug stands in the log with its stack, and its message nowhere else', async () => {
    await fetch(`${server.url}/fail/bug`, { headers: { 'x-request-id': 'traced' } });
    const line = server
      .logged()
      .split('\n')
      .find((entry) => entry.includes('request failed') && entry.includes('traced'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      level: 'error',
      request_id: 'traced',
      err: { message: 'password=hunter2' },
    });
  });
});

describe('a port', () => {
  const app = createApp<string>({
    routes: [],
    log: createLog({ level: 'silent', process: 'test' }),
    invalid: 'list',
    authenticate: () => '',
    body: limits(1),
  });

  test('in use is told by a sentence that names it', async () => {
    await expect(listen(app, { host: '127.0.0.1', port: server.port })).rejects.toMatchObject({
      name: 'StartError',
    });
  });

  test('closes when its open requests are answered', async () => {
    const slow = await serve([
      route({
        ...plain,
        method: 'get',
        path: '/slow',
        handler: async () => (await wait(150), answerJson({ ok: true })),
      }),
    ]);
    const answer = fetch(`${slow.url}/slow`);
    await wait(50);
    const stopping = slow.stop(5000);
    await expect(fetch(`${slow.url}/slow`)).rejects.toThrow();
    expect(await (await answer).json()).toEqual({ ok: true });
    await stopping;
  });

  test('closes under a request that outlasts the grace', async () => {
    const endless = await serve([
      route({
        ...plain,
        method: 'get',
        path: '/endless',
        handler: () => new Promise<never>(() => undefined),
      }),
    ]);
    const answer = fetch(`${endless.url}/endless`);
    answer.catch(() => undefined);
    await wait(50);
    await endless.stop(50);
    await expect(answer).rejects.toThrow();
  });
});
