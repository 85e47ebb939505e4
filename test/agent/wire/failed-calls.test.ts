import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* What a client is told when a question to a graph fails through the caller's fault, the graph's or the database's. */

let database: TestDatabase;
let agent: AgentProcess;
let wire: { server: Server; away: boolean; sockets: Set<Socket> };

/** A proxy to the database that can cut the connections of graphs, and only those. */
async function openWire(): Promise<number> {
  wire = { server: createServer(), away: false, sockets: new Set() };
  wire.server.on('connection', (client: Socket) => {
    const upstream = connect(Number(new URL(database.uri).port), '127.0.0.1');
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
    // The first message of a connection says whose it is.
    client.once('data', (first: Buffer) => {
      if (/gx-(graph-thread|process-runner)/.test(first.toString('latin1'))) {
        wire.sockets.add(client);
        if (wire.away) return client.destroy();
      }
      upstream.write(first);
      client.pipe(upstream).pipe(client);
    });
  });
  wire.server.listen(0, '127.0.0.1');
  await once(wire.server, 'listening');
  return (wire.server.address() as AddressInfo).port;
}

beforeAll(async () => {
  database = await freshDatabase();
  const uri = Object.assign(new URL(database.uri), { port: await openWire() }).href;
  agent = await startAgent({
    database: uri,
    config: 'test/agent/wire/failed-calls/graphs/gx.json',
    env: { GX_LOG_LEVEL: 'error' },
  });
});

afterAll(async () => {
  await agent.kill();
  wire.server.close();
  await database.drop();
});

type Answer = { status: number; body: Record<string, unknown> };

async function call(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${agent.url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const threadOf = async (graph_id: string): Promise<string> =>
  (await call('POST', '/threads', { metadata: { graph_id } })).body['thread_id'] as string;

async function withoutDatabase<T>(work: () => Promise<T>): Promise<T> {
  wire.away = true;
  for (const socket of wire.sockets) socket.destroy();
  try {
    return await work();
  } finally {
    wire.away = false;
  }
}

test('a run that fails says so in the log: its error, its node, the line of the graph, and the stack with its own frames first', async () => {
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, 'throws', { input: { count: 1 } });
  await agent.client.runs.join(thread_id, run_id);
  const line = await until('the line is written', () =>
    agent
      .output()
      .split('\n')
      .find((one) => one.includes('"run failed"') && one.includes(run_id)),
  );
  const { err, ...fields } = JSON.parse(line) as {
    err: { type: string; message: string; stack: string };
  };
  expect(fields).toMatchObject({
    level: 'error',
    thread_id,
    graph_id: 'throws',
    node: 'cook',
    status: 'error',
  });
  expect(err).toMatchObject({ type: 'RangeError', message: 'the stove is off' });
  const [first, second, ...more] = err.stack.split('\n');
  expect(first).toBe('RangeError: the stove is off');
  expect(second).toMatch(/fails\.(ts:\d+:|py", line \d+)/);
  expect((fields as { at?: string }).at).toMatch(/fails\.(ts|py):\d+$/);
  expect(more.at(-1)).toMatch(/^caused by \w*Error: no gas$/);
  // Clients hear no more than the error.
  expect((await call('GET', `/threads/${thread_id}`)).body['error']).toEqual({
    error: 'RangeError',
    message: 'the stove is off',
  });
});

describe('a fault of the graph:', () => {
  test('one that can not be made is a 500 with its error, for its state and its description', async () => {
    const failed = { status: 500, body: { detail: 'RangeError: no graph today' } };
    const thread = await threadOf('unmade');
    expect(await call('GET', `/threads/${thread}/state`)).toEqual(failed);
    expect(await call('GET', `/threads/${thread}/history`)).toEqual(failed);
    expect(await call('POST', `/threads/${thread}/state`, { values: { count: 1 } })).toEqual(
      failed,
    );
    const [assistant] = await agent.client.assistants.search({ graphId: 'unmade' });
    expect(await call('GET', `/assistants/${assistant!.assistant_id}/schemas`)).toEqual(failed);
    expect(await call('GET', `/assistants/${assistant!.assistant_id}/subgraphs`)).toEqual(failed);
  });

  test('a run in which a graph with nodes takes no step is no success', async () => {
    const thread = await threadOf('idle');
    const run = { assistant_id: 'idle', input: { count: 1 } };
    const failure = {
      error: 'InternalServerError',
      message: expect.stringMatching(/^The graph took no step and stored nothing/) as string,
    };
    for (const path of ['/runs/wait', `/threads/${thread}/runs/wait`])
      expect((await call('POST', path, run)).body).toEqual({ __error__: failure });
    expect((await call('GET', `/threads/${thread}`)).body).toMatchObject({ status: 'error' });
    expect(await agent.client.runs.list(thread)).toEqual([
      expect.objectContaining({ status: 'error' }),
    ]);
  });

  test('a reducer that throws is a 500, and the state stays', async () => {
    const thread = await threadOf('fails');
    const path = `/threads/${thread}/state`;
    expect((await call('POST', path, { values: { count: 2 }, as_node: 'step' })).status).toBe(200);
    expect(await call('POST', path, { values: { count: 11 }, as_node: 'step' })).toEqual({
      status: 500,
      body: { detail: 'TypeError: the reducer is broken' },
    });
    expect((await call('GET', path)).body).toMatchObject({ values: { count: 2 } });
  });

  test('what can not even be looked at is answered, too', async () => {
    const thread = await threadOf('hostile');
    expect(await call('GET', `/threads/${thread}/state`)).toEqual({
      status: 500,
      body: {
        detail: expect.stringMatching(
          /^Error: The graph (threw something|raised an error) that can not be printed\.$/,
        ) as string,
      },
    });
  });
});

describe('a fault of the caller:', () => {
  test('a node that the graph does not have is a 400', async () => {
    const answer = await call('POST', `/threads/${await threadOf('fails')}/state`, {
      values: { count: 1 },
      as_node: 'nowhere',
    });
    expect(answer).toEqual({
      status: 400,
      body: { detail: expect.stringContaining('nowhere') as string },
    });
  });

  test.each([
    ['a list', 'fails', [1]],
    ['no message', 'chat', { messages: 42 }],
    [
      'the removal of a message that is not there',
      'chat',
      { messages: [{ type: 'remove', id: 'none' }] },
    ],
  ])('values that the graph does not take (%s) are a 400', async (_what, graph, values) => {
    const answer = await call('POST', `/threads/${await threadOf(graph)}/state`, { values });
    expect(answer).toEqual({
      status: 400,
      body: { detail: expect.stringMatching(/\S/) as string },
    });
  });

  test('a graph that this server does not have is a 404', async () => {
    expect(await call('GET', `/threads/${await threadOf('nowhere')}/state`)).toEqual({
      status: 404,
      body: { detail: 'Graph "nowhere" is not part of this revision.' },
    });
  });
});

test('a database that does not answer the graph is a 503, and its return is enough', async () => {
  const thread = await threadOf('fails');
  const path = `/threads/${thread}/state`;
  await call('POST', path, { values: { count: 2 }, as_node: 'step' });
  const asked = await withoutDatabase(() =>
    Promise.all([
      call('GET', path),
      call('GET', `/threads/${thread}/history`),
      call('POST', path, { values: { count: 3 }, as_node: 'step' }),
    ]),
  );
  expect(asked).toEqual(
    Array.from({ length: 3 }, () => ({
      status: 503,
      body: { detail: 'The database does not answer.' },
    })),
  );
  expect(await call('GET', path)).toMatchObject({ status: 200, body: { values: { count: 2 } } });
});

describe('a thread whose history can not be written', () => {
  const create = (thread_id: string, updates: object[]): Promise<Answer> =>
    call('POST', '/threads', {
      thread_id,
      metadata: { graph_id: 'fails' },
      supersteps: [{ updates }],
    });
  const good = [{ values: { count: 1 }, as_node: 'step' }];

  test.each([
    ['names a node that is not there', [{ values: { count: 1 }, as_node: 'nowhere' }], 400],
    ['has a step without an update', [], 400],
    ['meets a fault of the graph', [{ values: { count: 11 }, as_node: 'step' }], 500],
  ])('because it %s is not made, and the same id is still free', async (_what, updates, status) => {
    const id = randomUUID();
    expect(await create(id, updates)).toEqual({
      status,
      body: { detail: expect.stringMatching(/\S/) as string },
    });
    expect((await call('GET', `/threads/${id}`)).status).toBe(404);
    expect(await create(id, good)).toMatchObject({
      status: 200,
      body: { thread_id: id, values: { count: 1 } },
    });
  });

  test('because the database went away is a 503, and is not made', async () => {
    const id = randomUUID();
    expect((await withoutDatabase(() => create(id, good))).status).toBe(503);
    expect(await create(id, good)).toMatchObject({ status: 200, body: { values: { count: 1 } } });
  });
});
