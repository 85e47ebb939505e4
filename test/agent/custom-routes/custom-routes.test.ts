import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* An application of the user stands before the built-in routes: one of Hono, or its Python twin of starlette. */

let database: Awaited<ReturnType<typeof freshDatabase>>;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  const env = {
    GX_HTTP_APP_TIMEOUT_SECS: '15',
    GX_HTTP_MAX_REQUEST_BODY_BYTES: String(4 * 1024 * 1024),
    GX_STREAMS_PER_CALLER: '20',
  };
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/custom-routes/graphs/gx.json',
    env,
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const ask = (path: string, options: RequestInit = {}): Promise<Response> =>
  fetch(agent.url + path, options);

const post = (
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  ask(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });

const said = async (answer: Response): Promise<[number, unknown]> => [
  answer.status,
  await answer.json(),
];

describe('a route of the user', () => {
  test('answers, also where a built-in route has the same path', async () => {
    expect(await said(await ask('/hello/ann?loud=1'))).toEqual([
      200,
      { hello: 'ann', path: '/hello/ann' },
    ]);
    expect(await said(await ask('/runs/own'))).toEqual([200, { own: true }]);
  });

  test('does not stand before probes and figures', async () => {
    expect(await (await ask('/ok')).json()).toMatchObject({ ok: true });
    expect(await (await ask('/metrics')).text()).toContain('gx_api_workers_max');
  });

  test('refuses in its own way', async () => {
    const refused = await ask('/refuses');
    expect([refused.status, await refused.text()]).toEqual([400, 'Not like this.']);
    expect(await said(await ask('/missing'))).toEqual([404, { detail: 'Not Found' }]);
  });

  test('that fails is a 500 in the words of the server, and what it throws stays in the log', async () => {
    expect(await said(await ask('/throws'))).toEqual([500, { detail: 'http.app failed.' }]);
    await expect.poll(() => agent.output()).toContain('the secret of the application');
  });

  test('and a built-in one answer a request whose headers are named like properties of every object', async () => {
    const headers: [string, string][] = ['constructor', '__proto__', 'toString'].map((name) => [
      name,
      'x',
    ]);
    expect((await ask('/hello/ann', { headers })).status).toBe(200);
    expect((await ask(`/threads/${crypto.randomUUID()}`, { headers })).status).toBe(404);
  });

  test('sends several headers of a name, and answers without a body', async () => {
    const answer = await ask('/cookies');
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([204, ['a=1', 'b=2']]);
    expect((await ask('/hello/ann', { method: 'HEAD' })).status).toBe(200);
  });

  test('is counted under the name of the application', async () => {
    await ask('/hello/figures');
    const figures = await (await ask('/metrics')).text();
    expect(figures).toMatch(/gx_api_http_request_seconds_count\{.*route="http.app".*\} \d/);
  });
});

test('routes that bring no document are in the OpenAPI document with their methods and paths', async () => {
  type Document = {
    paths: Record<string, Record<string, { parameters?: unknown[]; operationId?: string }>>;
  };
  const paths = async (): Promise<Document['paths']> =>
    ((await (await ask('/openapi.json')).json()) as Document).paths;
  await expect
    .poll(async () => (await paths())['/hello/{name}'], { timeout: 30_000 })
    .toBeDefined();
  const described = await paths();
  const parameter = (name: string, more: object = {}): object => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', ...more },
  });
  expect(described['/hello/{name}']).toMatchObject({ get: { parameters: [parameter('name')] } });
  expect(Object.keys(described['/echo']!)).toEqual(['post']);
  expect(described['/pages/{number}']!['put']!.parameters).toEqual([
    parameter('number', { pattern: '[0-9]+' }),
  ]);
  expect(described['/files/{rest}']!['get']!.parameters).toEqual([parameter('rest')]);
  expect(
    [described['/optional'], described['/optional/{end}']].map((one) => Object.keys(one!)),
  ).toEqual([['delete'], ['delete']]);
  expect(Object.keys(described['/any']!)).toEqual(['get', 'post', 'put', 'patch', 'delete']);
  // Middleware is no route, and the server's own pages and routes stay described as they are.
  expect(Object.keys(described['/threads']!)).toEqual(['post']);
  expect(described['/threads']!['post']!.operationId).toBe('create_thread');
  expect(described['/ok']!['get']!.operationId).toBe('health');
});

describe('a body', () => {
  test('passes both ways as it comes', async () => {
    const sent = Promise.withResolvers<void>();
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('one');
      await sent.promise;
      yield new TextEncoder().encode('two');
    };
    const answer = await ask('/echo', {
      method: 'POST',
      body: ReadableStream.from(chunks()),
      duplex: 'half',
    });
    const reader = answer.body!.getReader();
    // The first part is back before the second one is sent.
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('one');
    sent.resolve();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('two');
    expect((await reader.read()).done).toBe(true);
  });

  test('arrives whole when it is large, and a form with a file too', async () => {
    const bytes = new Uint8Array(3 * 1024 * 1024).map((_, at) => at % 251);
    const echoed = new Uint8Array(
      await (await ask('/echo', { method: 'POST', body: bytes })).arrayBuffer(),
    );
    expect(Buffer.compare(echoed, bytes)).toBe(0);
    const form = new FormData();
    form.set('file', new File([bytes], 'a.bin'));
    expect(await (await ask('/form', { method: 'POST', body: form })).json()).toEqual({
      name: 'a.bin',
      size: bytes.length,
    });
  });

  test('that is too large is refused, whether or not its length is announced', async () => {
    const piece = new Uint8Array(1024 * 1024);
    const announced = request(`${agent.url}/size`, {
      method: 'POST',
      headers: { 'content-length': 5 * piece.length },
    });
    announced.flushHeaders();
    const [refused] = (await once(announced, 'response')) as [IncomingMessage];
    expect(refused.statusCode).toBe(413);
    announced.destroy();
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 5; count += 1) yield piece;
    };
    const unmeasured = {
      method: 'POST',
      body: ReadableStream.from(chunks()),
      duplex: 'half',
    } as RequestInit;
    // A client that is still sending may find the connection closed before it reads the answer.
    const status = await ask('/size', unmeasured).then(
      (answer) => answer.status,
      () => 413,
    );
    expect(status).toBe(413);
  });

  test('of an answer ends when the client leaves', async () => {
    const before = (await (await ask('/left')).json()) as { left: number };
    const leaving = new AbortController();
    const answer = await ask('/ticks', { signal: leaving.signal });
    const reader = answer.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('0\n');
    leaving.abort();
    await until(
      'the stream has ended',
      async () => ((await (await ask('/left')).json()) as typeof before).left > before.left,
    );
  });

  test('of an answer that breaks off is no whole answer', async () => {
    const answer = await ask('/breaks');
    await expect(answer.text()).rejects.toThrow();
  });
});

describe('middleware', () => {
  test('sees built-in routes, before and after, and may answer instead', async () => {
    const answer = await post('/threads', {});
    expect([answer.status, answer.headers.get('x-middleware')]).toEqual([200, 'seen']);
    expect(await said(await post('/threads?stop', {}))).toEqual([418, { stopped: true }]);
    const unknown = await ask('/nowhere');
    expect([await said(unknown), unknown.headers.get('x-middleware')]).toEqual([
      [404, { detail: 'Not Found' }],
      'seen',
    ]);
  });

  test('may change the body of a request and of an answer', async () => {
    const made = (await (await post('/threads', {}, { 'x-owner': 'ann' })).json()) as {
      metadata: object;
    };
    expect(made.metadata).toEqual({ owner: 'ann' });
    await post('/threads', {}, { 'x-owner': 'ann' });
    const found = await post(
      '/threads/search',
      { metadata: { owner: 'ann' } },
      { 'x-replace': '1', 'x-wrap': '1' },
    );
    expect(await said(found)).toEqual([200, { wrapped: [expect.any(Object)] }]);
  });

  test('may change what it has parsed of a body, in place', async () => {
    const metadataOf = async (answer: Response): Promise<unknown> =>
      ((await answer.json()) as { metadata: unknown }).metadata;
    const asked = { metadata: { asked: 'ä' } };
    expect(await metadataOf(await post('/threads', asked, { 'x-label': 'red' }))).toEqual({
      label: 'red',
    });
    expect(await metadataOf(await post('/threads', asked, { 'x-more': 'yes' }))).toEqual({
      asked: 'ä',
      more: 'yes',
    });
    expect(
      await metadataOf(await post('/threads', asked, { 'x-label': 'red', 'x-more': 'yes' })),
    ).toEqual({ label: 'red', more: 'yes' });
    const none = await ask('/threads', {
      method: 'POST',
      body: '{"metadata":',
      headers: { 'x-label': 'red' },
    });
    expect(await said(none)).toEqual([422, { detail: 'body: Invalid JSON in request body' }]);
  });

  test('sees a WebSocket of event streaming, whose messages pass it by', async () => {
    const socket = new WebSocket(
      `${agent.url.replace('http', 'ws')}/threads/${crypto.randomUUID()}/stream/events`,
    );
    const frames: { id?: number; type: string; method?: string }[] = [];
    socket.on('message', (data: Buffer) =>
      frames.push(JSON.parse(data.toString()) as (typeof frames)[0]),
    );
    await once(socket, 'open');
    socket.send(
      JSON.stringify({ id: 1, method: 'subscription.subscribe', params: { channels: ['values'] } }),
    );
    socket.send(
      JSON.stringify({
        id: 2,
        method: 'run.start',
        params: { assistant_id: 'steps', input: { left: 1 } },
      }),
    );
    const has = (found: (frame: (typeof frames)[0]) => boolean) => frames.some(found);
    await until('both commands are answered', () =>
      [1, 2].every((id) => has((frame) => frame.type === 'success' && frame.id === id)),
    );
    await until('the run tells its values', () =>
      has(({ type, method }) => type === 'event' && method === 'values'),
    );
    socket.terminate();
    const stopped = new WebSocket(
      `${agent.url.replace('http', 'ws')}/threads/${crypto.randomUUID()}/stream/events?stop`,
    );
    expect((await once(stopped, 'close'))[0]).toBe(4418);
  });

  test('lets streams of runs through as they come', async () => {
    const { thread_id } = await agent.client.threads.create();
    const events = agent.client.runs.stream(thread_id, 'steps', {
      input: { left: 3, pause: 10 },
      streamMode: 'custom',
    });
    expect(
      (await Array.fromAsync(events))
        .filter(({ event }) => event === 'custom')
        .map(({ data }) => data),
    ).toEqual([{ left: 3 }, { left: 2 }, { left: 1 }]);
  });

  test('a client that leaves a run behind is noticed through it', async () => {
    const { thread_id } = await agent.client.threads.create();
    const leaving = new AbortController();
    const answer = await ask(`/threads/${thread_id}/runs/stream`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        assistant_id: 'steps',
        input: { left: 1000, pause: 50 },
        on_disconnect: 'cancel',
      }),
    });
    await answer.body!.getReader().read();
    leaving.abort();
    await expect
      .poll(async () => (await agent.client.runs.list(thread_id))[0]?.status, { timeout: 30_000 })
      .toBe('interrupted');
  });
});

test('a client inside asks the server without the network', async () => {
  expect(await said(await ask('/client'))).toEqual([
    200,
    expect.objectContaining({ left: 0, done: 2 }),
  ]);
});

describe('when it fails', () => {
  const other = async (): Promise<void> => {
    expect(await said(await ask('/hello/after'))).toEqual([
      200,
      { hello: 'after', path: '/hello/after' },
    ]);
  };

  test('a route that never answers costs its caller an answer', async () => {
    const hanging = ask('/hangs');
    await other();
    expect(await said(await hanging)).toEqual([
      503,
      { detail: 'http.app did not answer within 15 s.' },
    ]);
  });

  test('a route that never yields costs its caller an answer; what was not begun is asked again', async () => {
    const { thread_id } = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread_id, 'steps', {
      input: { left: 20, pause: 200 },
    });
    const looping = ask('/loops');
    await until('the thread is held', async () => (await ask('/ok')).ok);
    const waiting = ask('/hello/waiting');
    expect(await said(await looping)).toEqual([
      503,
      { detail: expect.stringContaining('does not yield') as string },
    ]);
    expect((await waiting).status).toBe(200);
    await agent.client.runs.join(thread_id, run.run_id);
    expect(await agent.client.runs.get(thread_id, run.run_id)).toMatchObject({ status: 'success' });
  });

  test('one that stops yielding later loses its thread too', async () => {
    const looping = ask('/loops-later');
    expect((await ask('/ok')).status).toBe(200);
    expect((await looping).status).toBe(503);
    await other();
  });

  test('one that ends its thread costs its caller an answer', async () => {
    expect((await ask('/exits')).status).toBe(503);
    await other();
  });

  test('a caller that holds too many open is told so', async () => {
    const leaving = new AbortController();
    const open = await Promise.all(
      Array.from({ length: 20 }, () => ask('/ticks', { signal: leaving.signal })),
    );
    expect(open.every(({ ok }) => ok)).toBe(true);
    expect((await ask('/hello/late')).status).toBe(429);
    leaving.abort();
    await until('there is room again', async () => (await ask('/hello/late')).status === 200);
  });
});
