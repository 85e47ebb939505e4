import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Who may call routes of the user, and when they are asked. */

let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(() => database.drop());

const configOf = (name: string): string => `test/agent/custom-routes/graphs/${name}.json`;

type Seen = { status: number; body: unknown; middleware: boolean };

type Asked = { token?: string; method?: string };

const seenBy =
  (agent: () => AgentProcess) =>
  async (path: string, { token, method = 'GET' }: Asked = {}): Promise<Seen> => {
    const headers = {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    const answer = await fetch(agent().url + path, {
      method,
      headers,
      ...(method === 'POST' && { body: '{}' }),
    });
    const text = await answer.text();
    const body: unknown = text.startsWith('{') ? JSON.parse(text) : text;
    return {
      status: answer.status,
      body,
      middleware: answer.headers.get('x-middleware') === 'seen',
    };
  };

const REFUSED = { detail: 'Who are you?' };
const ORDERS = [
  { name: 'open', first: 'middleware', own: 'open' },
  { name: 'guarded', first: 'middleware', own: 'guarded' },
  { name: 'auth-first', first: 'auth', own: 'open' },
  { name: 'auth-first-guarded', first: 'auth', own: 'guarded' },
];

describe.each(ORDERS)('with $first first and own routes $own', ({ name, first, own }) => {
  let agent: AgentProcess;
  const ask = seenBy(() => agent);
  const isMiddlewareFirst = first === 'middleware';

  beforeAll(async () => {
    agent = await startAgent({ database: database.uri, config: configOf(name) });
  });

  afterAll(() => agent.kill());

  test('a stranger gets to its own routes only if they are open', async () => {
    const letIn = { status: 200, body: { user: null, path: '/who' }, middleware: true };
    const refused = { status: 401, body: REFUSED, middleware: isMiddlewareFirst };
    expect(await ask('/agents/who')).toEqual(own === 'open' ? letIn : refused);
  });

  test('its own routes know who called if they ask', async () => {
    const user = own === 'open' ? null : 'ann';
    expect(await ask('/agents/who', { token: 'ann' })).toEqual({
      status: 200,
      body: { user, path: '/who' },
      middleware: true,
    });
  });

  test('a stranger gets to no built-in route, and the middleware sees that if it is first', async () => {
    expect(await ask('/agents/threads', { method: 'POST' })).toEqual({
      status: 401,
      body: REFUSED,
      middleware: isMiddlewareFirst,
    });
    expect((await ask('/agents/threads', { method: 'POST', token: 'ann' })).status).toBe(200);
  });

  test('middleware lends credentials only if it is first', async () => {
    const lent = await ask('/agents/threads?as=ann', { method: 'POST' });
    expect(lent.status).toBe(isMiddlewareFirst ? 200 : 401);
    expect(lent.body).toMatchObject(isMiddlewareFirst ? { metadata: { owner: 'ann' } } : REFUSED);
  });

  test('a WebSocket is opened to those to whom a request is answered', async () => {
    const opened = async (query: string, token?: string): Promise<string> => {
      const path = `${agent.url.replace('http', 'ws')}/agents/threads/${randomUUID()}/stream/events${query}`;
      const socket = new WebSocket(
        path,
        token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
      );
      const subscribe = {
        id: 1,
        method: 'subscription.subscribe',
        params: { channels: ['values'] },
      };
      socket.once('open', () => socket.send(JSON.stringify(subscribe)));
      const answer = once(socket, 'message').then(
        ([data]) => (JSON.parse(String(data)) as { type: string }).type,
      );
      const refusal = once(socket, 'close').then(([code]) => `closed with ${String(code)}`);
      return Promise.race([answer, refusal]).finally(() => socket.close());
    };
    expect(await opened('', 'ann')).toBe('success');
    expect(await opened('')).toBe('closed with 4401');
    // The middleware lends credentials here, too, if it is first.
    expect(await opened('?as=ann')).toBe(isMiddlewareFirst ? 'success' : 'closed with 4401');
    expect(await opened('?stop', 'ann')).toBe('closed with 4418');
  });

  test('what is open stays open, below the prefix only', async () => {
    expect((await ask('/agents/info')).status).toBe(200);
    expect([
      (await ask('/ok')).status,
      (await ask('/agents/ok')).status,
      (await ask('/who')).status,
    ]).toEqual([200, 200, 404]);
  });

  test('a client within the application sees what everybody has', async () => {
    const { body } = await ask('/agents/counts', { token: 'bob' });
    expect((body as { threads: number }).threads).toBeGreaterThan(0);
  });

  test('its OpenAPI document joins that of the server', async () => {
    await expect
      .poll(async () => (await ask('/agents/openapi.json')).body, { timeout: 30_000 })
      .toMatchObject({
        paths: {
          '/agents/who': { get: { operationId: 'who' } },
          '/agents/threads': { post: expect.any(Object) as object },
        },
      });
  });
});

describe('an application of @hono/zod-openapi', () => {
  let agent: AgentProcess;
  const make = (place: string, team: object): Promise<Response> =>
    fetch(`${agent.url}/agents/teams/${place}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(team),
    });

  beforeAll(async () => {
    agent = await startAgent({ database: database.uri, config: configOf('documented') });
  });

  afterAll(() => agent.kill());

  test('checks what it is sent, as it says it does', async () => {
    expect((await make('de', { name: 'red', size: 1 })).status).toBe(201);
    expect([
      (await make('deu', { name: 'red', size: 1 })).status,
      (await make('de', { name: 'r', size: 1 })).status,
    ]).toEqual([400, 400]);
  });

  test('is described in the document of the server, with its parameters and its schemas', async () => {
    type Document = {
      paths: Record<string, unknown>;
      components: { schemas: Record<string, unknown> };
    };
    const read = async (): Promise<Document> =>
      (await (await fetch(`${agent.url}/agents/openapi.json`)).json()) as Document;
    const ref = {
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Team' } } },
    };
    await expect
      .poll(async () => (await read()).paths['/agents/teams/{place}'], { timeout: 30_000 })
      .toMatchObject({
        post: {
          operationId: 'make_team',
          parameters: [
            {
              in: 'path',
              name: 'place',
              required: true,
              schema: { type: 'string', minLength: 2, maxLength: 2 },
            },
          ],
          requestBody: ref,
          responses: { 201: ref },
        },
      });
    const { paths, components } = await read();
    expect(components.schemas['Team']).toMatchObject({
      type: 'object',
      required: ['name', 'size'],
    });
    expect(paths['/agents/threads']).toHaveProperty('post');
  });
});

describe('an application of another kind, with groups of routes switched off', () => {
  let agent: AgentProcess;
  const ask = seenBy(() => agent);

  beforeAll(async () => {
    agent = await startAgent({ database: database.uri, config: configOf('plain') });
  });

  afterAll(() => agent.kill());

  test('answers what it knows, and leaves the rest to the built-in routes', async () => {
    expect((await ask('/plain', { method: 'POST' })).body).toEqual({ method: 'POST', body: '{}' });
    expect(await ask('/assistants/search', { method: 'POST' })).toMatchObject({ status: 200 });
    expect(await ask('/nowhere')).toMatchObject({ status: 404, body: { detail: 'Not Found' } });
  });

  test.each(['/threads', '/threads/search', '/ui/steps'])('%s is switched off', async (path) => {
    expect(await ask(path, { method: 'POST' })).toMatchObject({ status: 404 });
  });
});

test('a file that is not there, or no application, stops the start with a sentence', async () => {
  const missing = await failedStart({ database: database.uri, config: configOf('missing') });
  expect(missing.output).toMatch(/http\.app: there is no file .*nothing\.ts/);
  const other = await failedStart({ database: database.uri, config: configOf('no-app') });
  expect(other.output).toMatch(
    /http\.app: "graph" of .*steps\.(js is not a Hono application, and has no fetch\(request\)|py is not an ASGI application)/,
  );
});
