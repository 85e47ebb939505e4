import type { Thread } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Records as clients see them: threads and their state, assistants, the store, the server's own pages. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, env: { GX_DEFAULT_RECURSION_LIMIT: '150' } });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const call = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: never; headers: Headers }> => {
  const response = await fetch(`${agent.url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: (text === '' ? undefined : JSON.parse(text)) as never,
    headers: response.headers,
  };
};
const human = (content: string) => ({ messages: [{ role: 'human', content }] });

describe('threads', () => {
  test('an id that is taken is refused, or taken as it is', async () => {
    const { threads } = agent.client;
    const { thread_id: threadId } = await threads.create({ metadata: { a: 1 } });
    await expect(threads.create({ threadId })).rejects.toMatchObject({ status: 409 });
    expect(await threads.create({ threadId, ifExists: 'do_nothing' })).toMatchObject({
      metadata: { a: 1 },
    });
  });

  test('metadata is merged, and answered only when wanted', async () => {
    const { thread_id } = await agent.client.threads.create({ metadata: { a: 1, b: 1 } });
    expect(await agent.client.threads.update(thread_id, { metadata: { b: 2 } })).toMatchObject({
      metadata: { a: 1, b: 2 },
    });
    const minimal = await call(
      'PATCH',
      `/threads/${thread_id}`,
      { metadata: { c: 3 } },
      { prefer: 'return=minimal' },
    );
    expect(minimal).toMatchObject({ status: 204, body: undefined });
  });

  test('a search goes through pages by its headers', async () => {
    for (let count = 0; count < 5; count += 1)
      await agent.client.threads.create({ metadata: { kind: 'paged' } });
    const paged = async (offset: number): Promise<unknown[]> => {
      const { body, headers } = await call('POST', '/threads/search', {
        metadata: { kind: 'paged' },
        limit: 2,
        offset,
      });
      return [
        (body as object[]).length,
        headers.get('x-pagination-next'),
        headers.get('x-pagination-total'),
      ];
    };
    // The total counts as far as the search looked: one beyond the page.
    expect(await paged(0)).toEqual([2, '2', '3']);
    expect(await paged(2)).toEqual([2, '4', '5']);
    expect(await paged(4)).toEqual([1, null, '5']);
    expect(await paged(7)).toEqual([0, null, '7']);
    expect(await agent.client.threads.count({ metadata: { kind: 'paged' } })).toBe(5);
  });

  test.each(['updated_at', 'created_at', 'state_updated_at', 'thread_id'] as const)(
    'a search by %s goes through pages by a cursor',
    async (by) => {
      const kind = `cursor by ${by}`;
      for (let count = 0; count < 5; count += 1)
        await agent.client.threads.create({ metadata: { kind } });
      for (const sort_order of ['asc', 'desc']) {
        const search = { metadata: { kind }, sort_by: by, sort_order, select: ['thread_id'] };
        const all = (await call('POST', '/threads/search', search)).body;
        const found: unknown[] = [];
        let cursor: string | null | undefined;
        do {
          const { body, headers } = await call('POST', '/threads/search', {
            ...search,
            limit: 2,
            cursor,
          });
          found.push(...(body as unknown[]));
          cursor = headers.get('x-pagination-cursor');
        } while (cursor !== null);
        expect(found).toEqual(all);
        expect(found).toHaveLength(5);
      }
    },
  );

  test('a cursor of another search is refused, and a search by status has none', async () => {
    for (let count = 0; count < 3; count += 1)
      await agent.client.threads.create({ metadata: { kind: 'other cursor' } });
    const search = { metadata: { kind: 'other cursor' }, limit: 1 };
    const cursor = (await call('POST', '/threads/search', search)).headers.get(
      'x-pagination-cursor',
    );
    const refusals = [
      { cursor, sort_order: 'asc' },
      { cursor, sort_by: 'created_at' },
      { cursor, sort_by: 'status' },
      { cursor: 'x' },
      {
        cursor: Buffer.from('updated_at|desc|99999999999999999999|not-an-id').toString('base64url'),
      },
    ];
    for (const one of refusals)
      expect((await call('POST', '/threads/search', { ...search, ...one })).status).toBe(422);
    const byStatus = await call('POST', '/threads/search', { ...search, sort_by: 'status' });
    expect([byStatus.status, byStatus.headers.get('x-pagination-cursor')]).toEqual([200, null]);
  });

  test('threads come newest change first, in a search that names no order', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1)
      ids.push((await agent.client.threads.create({ metadata: { kind: 'unsorted' } })).thread_id);
    const [first, second, third] = ids as [string, string, string];
    const found = async (): Promise<string[]> =>
      (
        (await call('POST', '/threads/search', { metadata: { kind: 'unsorted' } })).body as {
          thread_id: string;
        }[]
      ).map(({ thread_id }) => thread_id);
    expect(await found()).toEqual([third, second, first]);
    await agent.client.threads.update(first, { metadata: { changed: true } });
    expect(await found()).toEqual([first, third, second]);
  });

  test('what a run is configured with stays out of its thread', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'steps', {
      input: { left: 1 },
      config: { configurable: { model: 'small' }, tags: ['a'] },
    });
    expect((await call('GET', `/threads/${thread_id}`)).body).toMatchObject({ config: {} });
  });

  test('a busy thread is found as busy, and shown with what was selected and extracted', async () => {
    const { thread_id } = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread_id, 'steps', {
      input: { left: 140, pause: 100 },
    });
    const search = {
      status: 'busy',
      ids: [thread_id],
      select: ['status'],
      extract: { graph: 'metadata.graph_id' },
    };
    expect((await call('POST', '/threads/search', search)).body).toEqual([
      { status: 'busy', extracted: { graph: 'steps' } },
    ]);
    await expect(
      agent.client.threads.updateState(thread_id, { values: { left: 1 } }),
    ).rejects.toMatchObject({ status: 409 });
    await until('a step is done', async () =>
      (await agent.client.threads.getState(thread_id)).next.includes('step'),
    );
    await agent.client.runs.cancel(thread_id, run.run_id, true);
    await expect
      .poll(() => agent.client.threads.get(thread_id))
      .toMatchObject({ status: 'interrupted' });
  });

  test('state is read, written, looked back at, and gone back to', async () => {
    const { threads, runs } = agent.client;
    const { thread_id } = await threads.create();
    expect((await threads.getState(thread_id)).values).toEqual({});
    await runs.wait(thread_id, 'steps', { input: { left: 2 } });
    const before = await threads.getState(thread_id);
    expect(before).toMatchObject({
      values: { left: 0, done: 2 },
      next: [],
      checkpoint: { thread_id, checkpoint_ns: '' },
    });
    const written = await threads.updateState(thread_id, { values: { done: 5 } });
    expect(written).toMatchObject({
      checkpoint: { thread_id },
      checkpoint_id: expect.any(String) as string,
    });
    expect((await threads.getState(thread_id)).values).toMatchObject({ done: 7 });
    expect(await threads.get(thread_id)).toMatchObject({ values: { done: 7 } });
    const history = await threads.getHistory(thread_id, { limit: 10 });
    expect(history.map((state) => (state.values as { done?: number }).done)).toEqual([
      7, 2, 1, 0, 0,
    ]);
    expect(
      (await threads.getState(thread_id, before.checkpoint.checkpoint_id as string)).values,
    ).toMatchObject({ done: 2 });
    // A fork from an old checkpoint must not see the values of the path it leaves.
    const checkpointId = history[2]?.checkpoint.checkpoint_id as string;
    expect(await runs.wait(thread_id, 'steps', { input: { left: 1 }, checkpointId })).toMatchObject(
      { done: 2 },
    );
  });

  test('a copy has the state and goes its own way; a copy of nothing is a conflict', async () => {
    const { threads, runs } = agent.client;
    const { thread_id } = await threads.create({ metadata: { kept: true } });
    await runs.wait(thread_id, 'chat', { input: human('one') });
    const copy = await threads.copy(thread_id);
    expect(copy).toMatchObject({ metadata: { kept: true, graph_id: 'chat' }, status: 'idle' });
    await runs.wait(copy.thread_id, 'chat', { input: human('two') });
    const count = async (id: string) =>
      ((await threads.getState(id)).values as { messages: unknown[] }).messages.length;
    expect([await count(thread_id), await count(copy.thread_id)]).toEqual([2, 4]);
    expect((await call('POST', '/threads/00000000-0000-4000-8000-000000000000/copy')).status).toBe(
      409,
    );
  });

  test('a deleted thread leaves nothing', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'chat', { input: human('x') });
    await agent.client.threads.delete(thread_id);
    await expect(agent.client.threads.get(thread_id)).rejects.toMatchObject({ status: 404 });
    for (const table of [
      'run',
      'checkpoints',
      'checkpoint_blobs',
      'checkpoint_writes',
      'stream_event',
    ])
      expect(
        await database.sql(`select 1 from gx.${table} where thread_id::text = $1`, [thread_id]),
      ).toEqual([]);
  });

  test('prune keeps the newest state', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'steps', { input: { left: 3 } });
    expect(
      (await call('POST', '/threads/prune', { thread_ids: [thread_id], strategy: 'keep_latest' }))
        .body,
    ).toEqual({ pruned_count: 1 });
    expect(await agent.client.threads.getHistory(thread_id, { limit: 10 })).toHaveLength(1);
    expect((await agent.client.threads.getState(thread_id)).values).toMatchObject({ done: 3 });
  });
});

describe('a copy of a thread', () => {
  const copyOf = async (thread: string): Promise<Thread> => agent.client.threads.copy(thread);

  test('waits for the same answer, and leaves the thread waiting for its own', async () => {
    const { threads, runs } = agent.client;
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, 'approval', { input: { request: 'go' } });
    const { interrupts } = await threads.get(thread_id);
    const copy = await copyOf(thread_id);
    expect(copy).toMatchObject({ status: 'interrupted', interrupts });
    expect(await threads.search({ ids: [copy.thread_id], status: 'interrupted' })).toHaveLength(1);
    expect(
      await runs.wait(copy.thread_id, 'approval', { command: { resume: 'yes' } }),
    ).toMatchObject({ request: 'go', answer: 'yes' });
    expect(await threads.get(thread_id)).toMatchObject({ status: 'interrupted', interrupts });
  });

  test('has failed where the thread has', async () => {
    const { threads, runs } = agent.client;
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, 'broken', { input: {}, raiseError: false });
    const { status, error } = (await threads.get(thread_id)) as Thread & { error: unknown };
    expect(status).toBe('error');
    expect(await copyOf(thread_id)).toMatchObject({ status, error });
  });

  test('lives as long as the thread, from when it is made', async () => {
    const { threads } = agent.client;
    const { thread_id } = await threads.create({ ttl: 30 });
    const copy = await threads.get((await copyOf(thread_id)).thread_id, { include: ['ttl'] });
    expect(copy).toMatchObject({ ttl: { strategy: 'delete', ttl_minutes: 30 } });
    const { expires_at } = (copy as Thread & { ttl: { expires_at: string } }).ttl;
    expect(Date.parse(expires_at) - Date.parse(copy.updated_at)).toBe(30 * 60_000);
  });
});

describe('runs', () => {
  test('reject refuses a second run and stores nothing', async () => {
    const { thread_id } = await agent.client.threads.create();
    const first = await agent.client.runs.create(thread_id, 'steps', {
      input: { left: 140, pause: 100 },
    });
    const second = agent.client.runs.create(thread_id, 'steps', {
      input: { left: 1 },
      multitaskStrategy: 'reject',
    });
    await expect(second).rejects.toMatchObject({ status: 409 });
    expect(await agent.client.runs.list(thread_id)).toHaveLength(1);
    expect(
      (await call('POST', `/threads/${thread_id}/runs/${first.run_id}/cancel?wait=0`)).status,
    ).toBe(202);
  });

  test('of many runs that reject each other at the same moment one gets in', async () => {
    const { thread_id } = await agent.client.threads.create();
    const body = {
      assistant_id: 'steps',
      input: { left: 140, pause: 100 },
      multitask_strategy: 'reject',
    };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => call('POST', `/threads/${thread_id}/runs`, body)),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 409),
    ]);
    await call('POST', '/runs/cancel', {
      thread_id,
      run_ids: [
        (answers.find(({ status }) => status === 200)?.body as { run_id: string } | undefined)
          ?.run_id,
      ],
    });
  });

  test('many runs on one thread run one after another', async () => {
    const { thread_id } = await agent.client.threads.create();
    const body = { assistant_id: 'steps', input: { left: 1, pause: 5 } };
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => call('POST', `/threads/${thread_id}/runs/wait`, body)),
    );
    expect(
      answers.map(({ body: state }) => (state as { done: number }).done).toSorted((a, b) => a - b),
    ).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
  });

  test('if_not_exists makes the thread, also when two ask at once', async () => {
    const id = crypto.randomUUID();
    const body = { assistant_id: 'steps', input: { left: 1 }, if_not_exists: 'create' };
    const answers = await Promise.all(
      [1, 2].map(() => call('POST', `/threads/${id}/runs/wait`, body)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await agent.client.threads.getState(id)).values).toMatchObject({ done: 2 });
  });

  test('a delayed run does not hold up the thread', async () => {
    const { thread_id } = await agent.client.threads.create();
    const later = await agent.client.runs.create(thread_id, 'steps', {
      input: { left: 1 },
      afterSeconds: 6,
    });
    expect(await agent.client.runs.wait(thread_id, 'steps', { input: { left: 1 } })).toMatchObject({
      done: 1,
    });
    expect(await agent.client.runs.get(thread_id, later.run_id)).toMatchObject({
      status: 'pending',
    });
    expect(await agent.client.runs.join(thread_id, later.run_id)).toMatchObject({ done: 2 });
  });

  test('a run on a thread of its own leaves no thread', async () => {
    const answer = await call('POST', '/runs/wait', { assistant_id: 'steps', input: { left: 2 } });
    expect(answer.body).toMatchObject({ done: 2 });
    const threadId = /threads\/([^/]+)/.exec(answer.headers.get('content-location') ?? '')?.[1];
    await until(
      'the thread is gone',
      async () => (await call('GET', `/threads/${threadId}`)).status === 404,
    );
    const batch = await call('POST', '/runs/batch', [
      { assistant_id: 'steps', input: { left: 1 } },
      { assistant_id: 'chat', input: human('x') },
    ]);
    expect(batch.body).toHaveLength(2);
  });

  test("the recursion limit is the server's, unless the run brings its own", async () => {
    expect(
      (await call('POST', '/runs/wait', { assistant_id: 'steps', input: { left: 40 } })).body,
    ).toMatchObject({ done: 40 });
    const answer = await call('POST', '/runs/wait', {
      assistant_id: 'steps',
      input: { left: 40 },
      config: { recursion_limit: 5 },
    });
    expect(answer.body).toMatchObject({ __error__: { error: 'GraphRecursionError' } });
  });

  test('a client that leaves stops the run when it asked for that', async () => {
    const { thread_id } = await agent.client.threads.create();
    const leave = new AbortController();
    const body = JSON.stringify({
      assistant_id: 'steps',
      input: { left: 100, pause: 50 },
      on_disconnect: 'cancel',
    });
    const response = await fetch(`${agent.url}/threads/${thread_id}/runs/stream`, {
      method: 'POST',
      body,
      signal: leave.signal,
    });
    await response.body?.getReader().read();
    leave.abort();
    const [run] = await agent.client.runs.list(thread_id);
    await agent.client.runs.join(thread_id, run?.run_id ?? '');
    expect(await agent.client.runs.get(thread_id, run?.run_id ?? '')).toMatchObject({
      status: 'interrupted',
    });
  });

  test.each([
    ['updates'],
    ['debug'],
    ['tasks'],
    ['checkpoints'],
    ['events'],
    ['messages'],
  ] as const)('streams %s', async (streamMode) => {
    const events = await Array.fromAsync(
      agent.client.runs.stream(null, 'chat', { input: human('hi'), streamMode }),
    );
    const names = new Set(events.map(({ event }) => event.split('/')[0]));
    expect(names).toEqual(new Set(['metadata', streamMode]));
  });
});

describe('a stream of a thread', () => {
  test('tells the runs that start later, their ends, and states written by hand', async () => {
    const { thread_id } = await agent.client.threads.create();
    const leave = new AbortController();
    const response = await fetch(
      `${agent.url}/threads/${thread_id}/stream?stream_modes=lifecycle&stream_modes=run_modes&stream_modes=state_update`,
      {
        signal: leave.signal,
      },
    );
    let text = '';
    const reading = (async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
    })().catch(() => undefined);
    const body = { assistant_id: 'steps', input: { left: 1 }, stream_mode: ['custom'] };
    for (const _ of [1, 2]) await call('POST', `/threads/${thread_id}/runs/wait`, body);
    await agent.client.threads.updateState(thread_id, { values: { done: 1 } });
    await until('the state is told', () => text.includes('event: state_update'), 60);
    const names = text.match(/^event: \S+/gm)?.map((line) => line.slice(7));
    expect(names).toEqual([
      'metadata',
      'custom',
      'metadata',
      'metadata',
      'custom',
      'metadata',
      'state_update',
    ]);
    expect(text.match(/"status":"run_done"/g)).toHaveLength(2);
    leave.abort();
    await reading;
    await until('the thread is let go', async () => {
      const [row] = await database.sql<{ readers: string }>(
        'select readers::text from gx.thread where thread_id = $1',
        [thread_id],
      );
      return row?.readers === '{}';
    });
  });
});

describe('assistants', () => {
  test('each change makes a version, and an older one can be gone back to', async () => {
    const { assistants } = agent.client;
    const made = await assistants.create({
      graphId: 'chat',
      name: 'Polite',
      config: { configurable: { tone: 'kind' } },
    });
    expect(made).toMatchObject({ version: 1, context: { tone: 'kind' } });
    expect(
      await assistants.update(made.assistant_id, { name: 'Rude', metadata: { b: 1 } }),
    ).toMatchObject({ version: 2, name: 'Rude' });
    expect(await assistants.getVersions(made.assistant_id)).toMatchObject([
      { version: 2 },
      { version: 1 },
    ]);
    expect(await assistants.setLatest(made.assistant_id, 1)).toMatchObject({
      version: 1,
      name: 'Polite',
    });
    expect((await call('POST', '/assistants/search', { name: 'poli' })).body).toHaveLength(1);
    expect(await assistants.count({ graphId: 'chat' })).toBe(2);
    await assistants.delete(made.assistant_id);
    await expect(assistants.get(made.assistant_id)).rejects.toMatchObject({ status: 404 });
  });

  test('a graph is drawn and described', async () => {
    const [chat] = await agent.client.assistants.search({ graphId: 'chat' });
    const drawing = await agent.client.assistants.getGraph(chat?.assistant_id ?? '');
    expect(drawing.nodes.map(({ id }) => id)).toEqual(['__start__', 'answer', '__end__']);
    const schemas = await agent.client.assistants.getSchemas(chat?.assistant_id ?? '');
    expect(schemas).toMatchObject({ graph_id: 'chat', context_schema: null });
    expect(await agent.client.assistants.getSubgraphs(chat?.assistant_id ?? '')).toEqual({});
  });

  test('an unknown graph is not found, an unknown name is not valid', async () => {
    expect((await call('POST', '/assistants', { graph_id: 'nope' })).status).toBe(404);
    expect((await call('POST', '/runs/wait', { assistant_id: 'nope' })).status).toBe(422);
  });
});

describe('the store', () => {
  test('keeps, finds, lists and forgets', async () => {
    const { store } = agent.client;
    await store.putItem(['users', 'ann'], 'profile', { age: 40, city: 'Rome' });
    await store.putItem(['users', 'bob'], 'profile', { age: 20, city: 'Oslo' });
    expect(await store.getItem(['users', 'ann'], 'profile')).toMatchObject({
      value: { city: 'Rome' },
    });
    const found = await store.searchItems(['users'], { filter: { age: { $gt: 30 } } });
    expect(found.items.map(({ namespace }) => namespace)).toEqual([['users', 'ann']]);
    expect((await store.listNamespaces({ prefix: ['users'] })).namespaces).toEqual([
      ['users', 'ann'],
      ['users', 'bob'],
    ]);
    expect((await store.listNamespaces({ maxDepth: 1 })).namespaces).toEqual([['users']]);
    await store.deleteItem(['users', 'ann'], 'profile');
    expect((await call('GET', '/store/items?namespace=users.ann&key=profile')).body).toBeNull();
  });

  test('a label with a period is refused', async () => {
    expect(
      (await call('PUT', '/store/items', { namespace: ['a.b'], key: 'k', value: {} })).status,
    ).toBe(422);
  });
});

describe('the server', () => {
  test('tells its health, its version, its figures and its interface', async () => {
    expect((await call('GET', '/ok')).body).toEqual({
      ok: true,
      services: { database: 'healthy', queue: 'healthy' },
    });
    expect((await call('GET', '/ok?check_db=0')).body).toMatchObject({
      services: { database: 'skipped' },
    });
    expect((await call('GET', '/info')).body).toMatchObject({
      context: 'js',
      flags: { assistants: true },
    });
    // The metrics leave out figures of the database when it is slow.
    await expect
      .poll(async () => (await call('GET', '/metrics?format=json')).body)
      .toMatchObject({ workers: { max: 10 }, queue: { n_running: expect.any(Number) as number } });
    await expect
      .poll(() => fetch(`${agent.url}/metrics`).then((answer) => answer.text()))
      .toMatch(/gx_api_num_pending_runs\{.*\} \d/);
    expect((await call('GET', '/openapi.json')).body).toMatchObject({
      openapi: '3.0.3',
      paths: { '/threads': { post: {} } },
    });
    expect((await fetch(`${agent.url}/docs`)).status).toBe(200);
  });

  test('pages of other origins may call, and read the headers they need', async () => {
    const { headers } = await call('GET', '/ok', undefined, { origin: 'https://ui.test' });
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-expose-headers')).toContain('content-location');
    expect(
      (
        await call('OPTIONS', '/threads', undefined, {
          origin: 'https://ui.test',
          'access-control-request-method': 'POST',
        })
      ).status,
    ).toBe(204);
  });
});
