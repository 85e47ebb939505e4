import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
    const headers = { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    const answer = await fetch(agent().url + path, { method, headers, ...(method === 'POST' && { body: '{}' }) });
    const text = await answer.text();
    const body: unknown = text.startsWith('{') ? JSON.parse(text) : text;
    return { status: answer.status, body, middleware: answer.headers.get('x-middleware') === 'seen' };
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
    expect(await ask('/agents/who', { token: 'ann' })).toEqual({ status: 200, body: { user, path: '/who' }, middleware: true });
  });

  test('a stranger gets to no built-in route, and the middleware sees that if it is first', async () => {
    expect(await ask('/agents/threads', { method: 'POST' })).toEqual({ status: 401, body: REFUSED, middleware: isMiddlewareFirst });
    expect((await ask('/agents/threads', { method: 'POST', token: 'ann' })).status).toBe(200);
  });

  test('middleware lends credentials only if it is first', async () => {
    const lent = await ask('/agents/threads?as=ann', { method: 'POST' });
    expect(lent.status).toBe(isMiddlewareFirst ? 200 : 401);
    expect(lent.body).toMatchObject(isMiddlewareFirst ? { metadata: { owner: 'ann' } } : REFUSED);
  });

  test('what is open stays open, below the prefix only', async () => {
    expect((await ask('/agents/info')).status).toBe(200);
    expect([(await ask('/ok')).status, (await ask('/agents/ok')).status, (await ask('/who')).status]).toEqual([200, 200, 404]);
  });

  test('a client within the application sees what everybody has', async () => {
    const { body } = await ask('/agents/counts', { token: 'bob' });
    expect((body as { threads: number }).threads).toBeGreaterThan(0);
  });

  test('its OpenAPI document joins that of the server', async () => {
    await expect
      .poll(async () => (await ask('/agents/openapi.json')).body, { timeout: 30_000 })
      .toMatchObject({
        paths: { '/agents/who': { get: { operationId: 'who' } }, '/agents/threads': { post: expect.any(Object) as object } },
      });
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
  expect(other.output).toMatch(/http\.app: "graph" of .*steps\.js is no Hono application, and has no fetch\(request\)/);
});
