import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* Handlers of `auth.path` decide who may call, and who sees what. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

type Records = { thread: string; run: string; assistant: string; checkpoint: string; cron: string };
let ann: Records;

const YEARLY = '0 0 1 1 *';

const clientOf = (token: string): Client =>
  new Client({
    apiUrl: agent.url,
    apiKey: null,
    defaultHeaders: { authorization: `Bearer ${token}` },
    callerOptions: { maxRetries: 0 },
  });

beforeAll(async () => {
  database = await freshDatabase();
  const env = { GX_AUTH_TIMEOUT_SECS: '12' };
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/auth/graphs/gx.json',
    env,
  });
  ann = await recordsOf('ann');
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

async function recordsOf(token: string): Promise<Records> {
  const client = clientOf(token);
  const { thread_id } = await client.threads.create();
  const { assistant_id } = await client.assistants.create({ graphId: 'who' });
  const run = await client.runs.create(thread_id, 'who', { input: { said: 'hello' } });
  await client.runs.join(thread_id, run.run_id);
  const { checkpoint } = await client.threads.getState(thread_id);
  const { cron_id } = await client.crons.create(assistant_id, {
    schedule: YEARLY,
    input: { said: 'happy new year' },
  });
  return {
    thread: thread_id,
    run: run.run_id,
    assistant: assistant_id,
    checkpoint: String(checkpoint.checkpoint_id),
    cron: cron_id,
  };
}

type Asked = { method: string; path: string; body?: unknown };

const ask = (token: string | undefined, { method, path, body }: Asked): Promise<Response> =>
  fetch(agent.url + path, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

/** Returns the status, and drops the rest of an answer that may be a stream without an end. */
async function statusOf(token: string | undefined, asked: Asked): Promise<number> {
  const answer = await ask(token, asked);
  await answer.body?.cancel();
  return answer.status;
}

describe('who may call', () => {
  const threads = { method: 'POST', path: '/threads', body: {} };

  test('a refusal keeps its status 401, its words and its headers', async () => {
    const answer = await ask(undefined, threads);
    expect([answer.status, await answer.json()]).toEqual([401, { detail: 'Who are you?' }]);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('any other refusal is 403', async () => {
    const answer = await ask('banned', threads);
    expect([answer.status, await answer.json()]).toEqual([403, { detail: 'Not you.' }]);
  });

  test('a handler that fails is a 500 that keeps its secret, and one that names nobody a 401', async () => {
    const broken = await ask('broken', threads);
    expect([broken.status, await broken.json()]).toEqual([
      500,
      { detail: 'The handler of auth.path failed.' },
    ]);
    await expect.poll(() => agent.output()).toContain('the secret of the directory');
    for (const [token, status] of Object.entries({ nobody: 401, unnamed: 401, numbered: 500 })) {
      const answer = await ask(token, threads);
      expect([answer.status, await answer.text()]).toEqual([
        status,
        expect.stringContaining('must return an identity'),
      ]);
    }
  });

  test('an empty identity is a caller, of whom all who have it are one', async () => {
    const { thread_id, metadata } = (await (await ask('anonymous', threads)).json()) as {
      thread_id: string;
      metadata: object;
    };
    expect(metadata).toEqual({ owner: '' });
    const seen = (token: string, id: string): Promise<number> =>
      statusOf(token, { method: 'GET', path: `/threads/${id}` });
    expect([
      await seen('anonymous', thread_id),
      await seen('ann', thread_id),
      await seen('anonymous', ann.thread),
    ]).toEqual([200, 404, 404]);
    const values = await clientOf('anonymous').runs.wait(thread_id, 'who', {
      input: { said: 'hello' },
    });
    expect(JSON.stringify(values)).toContain('"identity":""');
  });

  test('probes and documents stay open, metrics do not', async () => {
    for (const path of ['/ok', '/info', '/docs', '/openapi.json'])
      expect(await statusOf(undefined, { method: 'GET', path })).toBe(200);
    expect(await statusOf(undefined, { method: 'GET', path: '/metrics' })).toBe(401);
  });

  test('a handler that never answers costs its caller an answer, and nobody else', async () => {
    const silent = ask('silent', threads);
    expect(await statusOf('ann', threads)).toBe(200);
    const answer = await silent;
    expect([answer.status, await answer.text()]).toEqual([
      503,
      expect.stringContaining('did not answer within 12 s'),
    ]);
  });

  test('a handler that never yields costs its caller an answer; others are asked again', async () => {
    const stuck = ask('stuck', threads);
    const other = statusOf('ann', threads);
    const answer = await stuck;
    expect([answer.status, await answer.text()]).toEqual([
      503,
      expect.stringContaining('does not yield'),
    ]);
    expect(await other).toBe(200);
    expect(await statusOf(undefined, { method: 'GET', path: '/ok' })).toBe(200);
  });

  test('a user is remembered by the headers that the cache names', async () => {
    const seen = async (cached: string | undefined): Promise<unknown> => {
      const headers = {
        authorization: 'Bearer ann',
        ...(cached !== undefined && { 'x-cached': cached }),
      };
      const client = new Client({ apiUrl: agent.url, apiKey: null, defaultHeaders: headers });
      return (
        (await client.runs.wait(null, 'who', { input: { said: 'hi' } })) as {
          user: { asked: number };
        }
      ).user.asked;
    };
    const first = await seen('a');
    expect(await seen('a')).toBe(first);
    expect(await seen('b')).not.toBe(first);
    expect(await seen(undefined)).not.toBe(await seen(undefined));
  });
});

describe('the graph', () => {
  test('learns who called', async () => {
    const values = (await clientOf('ann').runs.wait(ann.thread, 'who', {
      input: { said: 'hi' },
    })) as Record<string, unknown>;
    expect(values['user']).toMatchObject({
      identity: 'ann',
      display_name: 'ann',
      is_authenticated: true,
      permissions: [''],
    });
    expect(values['user']).toMatchObject({ path: `/threads/${ann.thread}/runs/wait` });
    expect(values['id']).toBe('ann');
  });
});

describe('a cron', () => {
  /** Makes a cron that fires at once, for the user of the token, and returns it when it has. */
  async function fired(token: string): Promise<string> {
    const { cron_id } = await clientOf(token).crons.create('who', {
      schedule: YEARLY,
      onRunCompleted: 'keep',
      input: { said: 'hi' },
    });
    await database.sql('update gx.cron set next_run_date = now() where cron_id = $1', [cron_id]);
    await database.sql(`select pg_notify('gx_all', '{"about":"cron"}')`);
    const next = 'select 1 from gx.cron where cron_id = $1 and next_run_date > now()';
    await expect.poll(async () => (await database.sql(next, [cron_id])).length).toBe(1);
    return cron_id;
  }

  test('acts for the user who made it, and what it makes is that user’s', async () => {
    const cron_id = await fired('eve');
    const [thread] = await clientOf('eve').threads.search({ metadata: { cron_id } });
    expect(thread?.metadata).toMatchObject({ owner: 'eve' });
    const { values } = await until('the run is over', async () => {
      const found = await clientOf('eve').threads.get(thread!.thread_id);
      return found.status === 'idle' && found;
    });
    expect(values).toMatchObject({ id: 'eve', user: { identity: 'eve', permissions: [''] } });
    expect(await clientOf('ann').threads.search({ metadata: { cron_id } })).toEqual([]);
  });

  test('makes no run that its user may not make', async () => {
    const cron_id = await fired('eve!threads:create_run');
    expect(await clientOf('eve').threads.search({ metadata: { cron_id } })).toEqual([]);
    await expect
      .poll(() => agent.output())
      .toContain('a run of a cron could not be made; it is left out');
  });
});

describe('what handlers change', () => {
  test('is stored: threads, assistants and runs have their owner', async () => {
    const client = clientOf('ann');
    expect((await client.threads.get(ann.thread)).metadata).toMatchObject({ owner: 'ann' });
    expect((await client.assistants.get(ann.assistant)).metadata).toMatchObject({ owner: 'ann' });
    expect((await client.runs.get(ann.thread, ann.run)).metadata).toMatchObject({ owner: 'ann' });
  });

  test('the thread that a run makes is its caller’s', async () => {
    const threadId = crypto.randomUUID();
    await clientOf('ann').runs.wait(threadId, 'who', {
      input: { said: 'hi' },
      ifNotExists: 'create',
    });
    expect((await clientOf('ann').threads.get(threadId)).metadata).toMatchObject({
      owner: 'ann',
      graph_id: 'who',
    });
    await expect(clientOf('bob').threads.get(threadId)).rejects.toThrow('404');
  });

  test('the namespace of an item begins with its owner', async () => {
    await clientOf('ann').store.putItem(['notes'], 'one', { text: 'mine' });
    await clientOf('bob').store.putItem(['notes'], 'one', { text: 'his' });
    expect((await clientOf('ann').store.getItem(['notes'], 'one'))?.value).toEqual({
      text: 'mine',
    });
    expect(
      (await clientOf('bob').store.searchItems(['notes'])).items.map(({ value }) => value),
    ).toEqual([{ text: 'his' }]);
    expect((await clientOf('ann').store.listNamespaces({ prefix: [] })).namespaces).toEqual([
      ['ann', 'notes'],
    ]);
  });

  test('a copy is its maker’s', async () => {
    const copy = await clientOf('ann').threads.copy(ann.thread);
    expect(copy.metadata).toMatchObject({ owner: 'ann' });
  });
});

test('a filter that can’t be applied is the handler’s fault, in a sentence', async () => {
  const answer = await ask('odd', { method: 'POST', path: '/assistants/search', body: {} });
  expect([answer.status, await answer.text()]).toEqual([
    500,
    expect.stringContaining('$or must be a list of at least two filters'),
  ]);
});

test('a list shows each caller its own', async () => {
  const bob = await recordsOf('bob');
  const ids = (rows: { thread_id: string }[]): string[] => rows.map(({ thread_id }) => thread_id);
  expect(ids(await clientOf('bob').threads.search({ limit: 100 }))).toEqual([bob.thread]);
  expect(ids(await clientOf('ann').threads.search({ limit: 100 }))).not.toContain(bob.thread);
  expect(await clientOf('bob').threads.count()).toBe(1);
  expect(
    (await clientOf('bob').assistants.search()).map(({ assistant_id }) => assistant_id),
  ).toEqual([bob.assistant]);
});

test('a thread that another caller makes stays hidden from those who waited for it', async () => {
  const path = `/threads/${crypto.randomUUID()}`;
  const waiting = await ask('bob', {
    method: 'POST',
    path: `${path}/stream/events`,
    body: { channels: ['values'] },
  });
  const start = {
    id: 1,
    method: 'run.start',
    params: { assistant_id: 'who', input: { said: 'secret' } },
  };
  expect(await statusOf('ann', { method: 'POST', path: `${path}/commands`, body: start })).toBe(
    200,
  );
  const text = await waiting.text();
  expect(text).toContain('not found');
  expect(text).not.toContain('secret');
});

test('a WebSocket has its caller, too', async () => {
  const opened = async (token: string): Promise<string> => {
    const socket = new WebSocket(
      `${agent.url.replace('http', 'ws')}/threads/${ann.thread}/stream/events`,
      {
        headers: { authorization: `Bearer ${token}` },
      },
    );
    const { promise, resolve } = Promise.withResolvers<string>();
    socket.on('open', () =>
      socket.send(
        JSON.stringify({
          id: 1,
          method: 'subscription.subscribe',
          params: { channels: ['values'] },
        }),
      ),
    );
    socket.on('message', (data: Buffer) => resolve(data.toString()));
    socket.on('close', (code) => resolve(`closed ${code}`));
    const heard = await promise;
    socket.close();
    return heard;
  };
  expect(await opened('ann')).toContain('subscription_id');
  expect(await opened('bob')).toContain('not found');
  expect(await opened('banned')).toBe('closed 4403');
});

/** A route: its event, and what a caller gets for another's record. */
type Row = {
  route: string;
  event: string;
  miss: number | 'its own' | 'nothing';
  path: (of: Records) => string;
  body?: (of: Records) => unknown;
};

const at = (path: string) => (): string => path;
const thread =
  (rest: string) =>
  (of: Records): string =>
    `/threads/${of.thread}${rest}`;
const run =
  (rest: string) =>
  (of: Records): string =>
    `/threads/${of.thread}/runs/${of.run}${rest}`;
const assistant =
  (rest: string) =>
  (of: Records): string =>
    `/assistants/${of.assistant}${rest}`;
const started = (): object => ({ assistant_id: 'who', input: { said: 'hi' } });
/** A route that starts a run on a thread of its own. */
const starts = (path: string): Row => ({
  route: `POST ${path}`,
  event: 'threads:create_run',
  miss: 404,
  path: at(path),
  body: (of) => ({ ...started(), assistant_id: of.assistant }),
});
const cron = (of: Records): string => `/runs/crons/${of.cron}`;
const command = (): unknown => ({ id: 1, method: 'state.get', params: {} });

const ROWS: Row[] = [
  {
    route: 'POST /assistants',
    event: 'assistants:create',
    miss: 409,
    path: at('/assistants'),
    body: (of) => ({ graph_id: 'who', assistant_id: of.assistant, if_exists: 'do_nothing' }),
  },
  {
    route: 'POST /assistants/search',
    event: 'assistants:search',
    miss: 'its own',
    path: at('/assistants/search'),
    body: () => ({}),
  },
  {
    route: 'POST /assistants/count',
    event: 'assistants:search',
    miss: 'its own',
    path: at('/assistants/count'),
    body: () => ({}),
  },
  {
    route: 'GET /assistants/{assistant_id}',
    event: 'assistants:read',
    miss: 404,
    path: assistant(''),
  },
  {
    route: 'GET /assistants/{assistant_id}/graph',
    event: 'assistants:read',
    miss: 404,
    path: assistant('/graph'),
  },
  {
    route: 'GET /assistants/{assistant_id}/schemas',
    event: 'assistants:read',
    miss: 404,
    path: assistant('/schemas'),
  },
  {
    route: 'GET /assistants/{assistant_id}/subgraphs',
    event: 'assistants:read',
    miss: 404,
    path: assistant('/subgraphs'),
  },
  {
    route: 'GET /assistants/{assistant_id}/subgraphs/{namespace}',
    event: 'assistants:read',
    miss: 404,
    path: assistant('/subgraphs/say'),
  },
  {
    route: 'POST /assistants/{assistant_id}/versions',
    event: 'assistants:read',
    miss: 404,
    path: assistant('/versions'),
    body: () => ({}),
  },
  {
    route: 'PATCH /assistants/{assistant_id}',
    event: 'assistants:update',
    miss: 404,
    path: assistant(''),
    body: () => ({ name: 'other' }),
  },
  {
    route: 'POST /assistants/{assistant_id}/latest',
    event: 'assistants:update',
    miss: 404,
    path: assistant('/latest'),
    body: () => ({ version: 1 }),
  },
  {
    route: 'DELETE /assistants/{assistant_id}',
    event: 'assistants:delete',
    miss: 404,
    path: assistant(''),
  },
  {
    route: 'POST /threads',
    event: 'threads:create',
    miss: 409,
    path: at('/threads'),
    body: (of) => ({ thread_id: of.thread, if_exists: 'do_nothing' }),
  },
  {
    route: 'POST /threads/search',
    event: 'threads:search',
    miss: 'its own',
    path: at('/threads/search'),
    body: () => ({}),
  },
  {
    route: 'POST /threads/count',
    event: 'threads:search',
    miss: 'its own',
    path: at('/threads/count'),
    body: () => ({}),
  },
  { route: 'GET /threads/{thread_id}', event: 'threads:read', miss: 404, path: thread('') },
  {
    route: 'PATCH /threads/{thread_id}',
    event: 'threads:update',
    miss: 404,
    path: thread(''),
    body: () => ({ metadata: { a: 1 } }),
  },
  {
    route: 'POST /threads/{thread_id}/copy',
    event: 'threads:read',
    miss: 409,
    path: thread('/copy'),
    body: () => ({}),
  },
  {
    route: 'GET /threads/{thread_id}/storage',
    event: 'threads:read',
    miss: 404,
    path: thread('/storage'),
  },
  {
    route: 'GET /threads/{thread_id}/state',
    event: 'threads:read',
    miss: 404,
    path: thread('/state'),
  },
  {
    route: 'POST /threads/{thread_id}/state',
    event: 'threads:update',
    miss: 404,
    path: thread('/state'),
    body: () => ({ values: { said: 'x' } }),
  },
  {
    route: 'POST /threads/{thread_id}/state/checkpoint',
    event: 'threads:read',
    miss: 404,
    path: thread('/state/checkpoint'),
    body: (of) => ({ checkpoint: { checkpoint_id: of.checkpoint } }),
  },
  {
    route: 'GET /threads/{thread_id}/state/{checkpoint_id}',
    event: 'threads:read',
    miss: 404,
    path: (of) => `/threads/${of.thread}/state/${of.checkpoint}`,
  },
  {
    route: 'GET /threads/{thread_id}/history',
    event: 'threads:read',
    miss: 404,
    path: thread('/history'),
  },
  {
    route: 'POST /threads/{thread_id}/history',
    event: 'threads:read',
    miss: 404,
    path: thread('/history'),
    body: () => ({}),
  },
  {
    route: 'GET /threads/{thread_id}/stream',
    event: 'threads:read',
    miss: 404,
    path: thread('/stream'),
  },
  {
    route: 'POST /threads/{thread_id}/stream/events',
    event: 'threads:read',
    miss: 404,
    path: thread('/stream/events'),
    body: () => ({ channels: ['values'] }),
  },
  {
    route: 'POST /threads/{thread_id}/commands',
    event: 'threads:read',
    miss: 'nothing',
    path: thread('/commands'),
    body: command,
  },
  {
    route: 'GET /threads/{thread_id}/runs',
    event: 'threads:search',
    miss: 404,
    path: thread('/runs'),
  },
  {
    route: 'POST /threads/{thread_id}/runs',
    event: 'threads:create_run',
    miss: 404,
    path: thread('/runs'),
    body: started,
  },
  {
    route: 'POST /threads/{thread_id}/runs/wait',
    event: 'threads:create_run',
    miss: 404,
    path: thread('/runs/wait'),
    body: started,
  },
  {
    route: 'POST /threads/{thread_id}/runs/stream',
    event: 'threads:create_run',
    miss: 404,
    path: thread('/runs/stream'),
    body: started,
  },
  {
    route: 'GET /threads/{thread_id}/runs/{run_id}',
    event: 'threads:read',
    miss: 404,
    path: run(''),
  },
  {
    route: 'GET /threads/{thread_id}/runs/{run_id}/join',
    event: 'threads:read',
    miss: 404,
    path: run('/join'),
  },
  {
    route: 'GET /threads/{thread_id}/runs/{run_id}/stream',
    event: 'threads:read',
    miss: 404,
    path: run('/stream'),
  },
  {
    route: 'GET /threads/{thread_id}/runs/{run_id}/join-stream',
    event: 'threads:read',
    miss: 404,
    path: run('/join-stream'),
  },
  {
    route: 'GET /threads/{thread_id}/runs/{run_id}/feedback',
    event: 'threads:read',
    miss: 404,
    path: run('/feedback'),
  },
  {
    route: 'GET /threads/{thread_id}/usage',
    event: 'threads:read',
    miss: 404,
    path: thread('/usage'),
  },
  {
    route: 'POST /threads/{thread_id}/runs/{run_id}/cancel',
    event: 'threads:update',
    miss: 404,
    path: run('/cancel'),
  },
  {
    route: 'DELETE /threads/{thread_id}/runs/{run_id}',
    event: 'threads:delete',
    miss: 404,
    path: run(''),
  },
  starts('/runs'),
  starts('/runs/wait'),
  starts('/runs/stream'),
  {
    route: 'POST /runs/batch',
    event: 'threads:create_run',
    miss: 404,
    path: at('/runs/batch'),
    body: (of) => [{ ...started(), assistant_id: of.assistant }],
  },
  {
    route: 'GET /runs/{run_id}/stream',
    event: 'threads:read',
    miss: 404,
    path: (of) => `/runs/${of.run}/stream`,
  },
  {
    route: 'GET /runs/{run_id}/join-stream',
    event: 'threads:read',
    miss: 404,
    path: (of) => `/runs/${of.run}/join-stream`,
  },
  {
    route: 'POST /runs/cancel',
    event: 'threads:update',
    miss: 404,
    path: at('/runs/cancel'),
    body: (of) => ({ thread_id: of.thread, run_ids: [of.run] }),
  },
  {
    route: 'POST /runs/crons',
    event: 'crons:create',
    miss: 404,
    path: at('/runs/crons'),
    body: (of) => ({ schedule: YEARLY, assistant_id: of.assistant }),
  },
  {
    route: 'POST /threads/{thread_id}/runs/crons',
    event: 'crons:create',
    miss: 404,
    path: thread('/runs/crons'),
    body: () => ({ schedule: YEARLY, assistant_id: 'who' }),
  },
  {
    route: 'POST /runs/crons/search',
    event: 'crons:search',
    miss: 'its own',
    path: at('/runs/crons/search'),
    body: () => ({}),
  },
  {
    route: 'POST /runs/crons/count',
    event: 'crons:search',
    miss: 'its own',
    path: at('/runs/crons/count'),
    body: () => ({}),
  },
  { route: 'GET /runs/crons/{cron_id}', event: 'crons:read', miss: 404, path: cron },
  {
    route: 'PATCH /runs/crons/{cron_id}',
    event: 'crons:update',
    miss: 404,
    path: cron,
    body: () => ({ enabled: false }),
  },
  { route: 'DELETE /runs/crons/{cron_id}', event: 'crons:delete', miss: 404, path: cron },
  {
    route: 'PUT /store/items',
    event: 'store:put',
    miss: 'its own',
    path: at('/store/items'),
    body: () => ({ namespace: ['n'], key: 'k', value: {} }),
  },
  {
    route: 'GET /store/items',
    event: 'store:get',
    miss: 'its own',
    path: at('/store/items?namespace=n&key=k'),
  },
  {
    route: 'DELETE /store/items',
    event: 'store:delete',
    miss: 'its own',
    path: at('/store/items'),
    body: () => ({ namespace: ['n'], key: 'k' }),
  },
  {
    route: 'POST /store/items/search',
    event: 'store:search',
    miss: 'its own',
    path: at('/store/items/search'),
    body: () => ({ namespace_prefix: ['n'] }),
  },
  {
    route: 'POST /store/namespaces',
    event: 'store:list_namespaces',
    miss: 'its own',
    path: at('/store/namespaces'),
    body: () => ({}),
  },
  {
    route: 'POST /threads/prune',
    event: 'threads:delete',
    miss: 'its own',
    path: at('/threads/prune'),
    body: (of) => ({ thread_ids: [of.thread] }),
  },
  { route: 'DELETE /threads/{thread_id}', event: 'threads:delete', miss: 404, path: thread('') },
];

const askedIn = (row: Row, of: Records): Asked => ({
  method: row.route.split(' ')[0]!,
  path: row.path(of),
  ...(row.body !== undefined && { body: row.body(of) }),
});

/** Says what a caller got in the place of another's record; undefined for a part of it. */
function missIn(status: number, text: string): Row['miss'] | undefined {
  if (status >= 400) return status;
  if (text.includes('"type":"error"')) return 'nothing';
  return Object.values(ann).some((id) => text.includes(id)) ? undefined : 'its own';
}

test('whoever asks for a component by an assistant that they may not see learns nothing of it', async () => {
  const component = async (token: string, id: string): Promise<string> => {
    const answer = await ask(token, {
      method: 'POST',
      path: `/ui/${id}`,
      body: { name: 'weather' },
    });
    return `${answer.status} ${((await answer.json()) as { detail: string }).detail}`;
  };
  const nobodys = crypto.randomUUID();
  expect(await component('ann', ann.assistant)).toBe('404 gx.json has no "ui" named "who".');
  expect((await component('bob', ann.assistant)).replace(ann.assistant, nobodys)).toBe(
    await component('bob', nobodys),
  );
});

test('the usage of all callers is for none of them', async () => {
  for (const asked of [
    { method: 'GET', path: '/usage' },
    { method: 'POST', path: '/usage/forget', body: { user_id: 'ann' } },
  ]) {
    const answer = await ask('ann', asked);
    expect([answer.status, await answer.json()]).toEqual([
      403,
      { detail: "The usage of all callers is for the deployment's own keys." },
    ]);
  }
});

test('the budgets of all callers are for none of them', async () => {
  for (const asked of [
    { method: 'GET', path: '/budgets' },
    { method: 'POST', path: '/budgets/day/raise', body: { to: 1 } },
  ]) {
    const answer = await ask('ann', asked);
    expect([answer.status, await answer.json()]).toEqual([
      403,
      { detail: "The budgets of all callers are for the deployment's own keys." },
    ]);
  }
});

describe('every route', () => {
  test('stands in the table, but for those that are open to all', async () => {
    const { paths } = (await (await fetch(`${agent.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { tags: string[] }>>;
    };
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const open = routes.filter((route) =>
      /^(GET|POST) \/($|ok|info|docs|openapi.json|metrics|ui\/|feedback\/tokens)/.test(route),
    );
    // They have their own tests: callers.test.ts of test/agent/mcp, test/agent/a2a and test/agent/ag-ui.
    const files = ['agent-card.json', 'agent.json'].flatMap((file) =>
      ['/a2a/{assistant_id}', ''].map((of) => `${of}/.well-known/${file}`),
    );
    const cards = ['/a2a/{assistant_id}', ...files];
    const known = [
      'POST /mcp',
      'POST /a2a/{assistant_id}',
      'GET /usage',
      'POST /usage/forget',
      // So are the budgets.
      'GET /budgets',
      'POST /budgets/{name}/raise',
      ...cards.map((path) => `GET ${path}`),
      ...ROWS.map(({ route }) => route),
    ];
    const others = routes.filter(
      (route) => !open.includes(route) && !/^(GET|POST) \/(ag-ui|copilotkit)($|\/)/.test(route),
    );
    expect(known.toSorted()).toEqual(others.toSorted());
  });

  test.each(ROWS)('$route asks for $event, and is refused without it', async (row) => {
    const answer = await ask(`ann!${row.event}`, askedIn(row, ann));
    expect([answer.status, await answer.json()]).toEqual([403, { detail: 'Forbidden' }]);
  });

  test.each(ROWS)('$route of another caller: $miss', async (row) => {
    const answer = await ask('carl', askedIn(row, ann));
    expect(missIn(answer.status, await answer.text())).toBe(row.miss);
  });

  test('nothing of that has touched the other caller’s records', async () => {
    const client = clientOf('ann');
    expect((await client.threads.getState(ann.thread)).values).toMatchObject({ said: 'hi' });
    expect((await client.runs.get(ann.thread, ann.run)).status).toBe('success');
    expect((await client.assistants.get(ann.assistant)).version).toBe(1);
    expect(await client.crons.search()).toMatchObject([
      { cron_id: ann.cron, enabled: true, user_id: 'ann', metadata: { owner: 'ann' } },
    ]);
  });

  test.each(ROWS)('$route of its own caller is answered', async (row) => {
    const status = await statusOf('dora', askedIn(row, await recordsOf('dora')));
    expect(status).toBe(row.route.endsWith('/cancel') ? 404 : status < 300 ? status : 200); // An ended run can't be cancelled.
  });
});
