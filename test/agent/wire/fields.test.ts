import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Each field of a request has its effect or is refused. None is accepted and forgotten. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/contract/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Answer = { status: number; body: Record<string, unknown> };
const call = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const response = await fetch(`${agent.url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
  };
};
const refusal = (status: number, text: string): Answer => ({
  status,
  body: { detail: expect.stringContaining(text) as unknown },
});
const steps = { assistant_id: 'steps', input: { left: 1 } };
/** The body of a run that is still under way when the next request comes. */
const long = { input: { left: 5000, pause: 5 }, config: { recursion_limit: 10_000 } };

describe('an id in capital letters', () => {
  test('is the id of the same thread: in its path, its runs, its state, and when it goes', async () => {
    const small = crypto.randomUUID();
    const id = small.toUpperCase();
    expect(await call('POST', '/threads', { thread_id: id })).toMatchObject({
      status: 200,
      body: { thread_id: small },
    });
    expect(await call('POST', `/threads/${id}/runs/wait`, steps)).toMatchObject({
      status: 200,
      body: { done: 1 },
    });
    expect((await call('GET', `/threads/${small}/state`)).body).toMatchObject({
      values: { done: 1 },
    });
    expect((await call('GET', `/threads/${id}/state`)).body).toMatchObject({ values: { done: 1 } });
    const [run] = await agent.client.runs.list(small);
    expect(
      (await call('GET', `/threads/${id}/runs/${run!.run_id.toUpperCase()}/join`)).body,
    ).toMatchObject({ done: 1 });
    expect((await call('POST', '/threads/search', { ids: [id] })).body).toMatchObject([
      { thread_id: small },
    ]);
    expect(
      (await call('POST', '/threads/prune', { thread_ids: [id], strategy: 'keep_latest' })).body,
    ).toEqual({ pruned_count: 1 });
    expect((await call('DELETE', `/threads/${id}`)).status).toBe(204);
    expect(
      await database.sql('select 1 from gx.checkpoints where lower(thread_id) = $1', [small]),
    ).toEqual([]);
  });

  test('finds the stream of its thread and the runs to cancel', async () => {
    const { thread_id } = await agent.client.threads.create();
    const leave = new AbortController();
    const response = await fetch(`${agent.url}/threads/${thread_id.toUpperCase()}/stream`, {
      signal: leave.signal,
    });
    const { run_id } = await agent.client.runs.create(thread_id, 'steps', long);
    const first = await response.body!.pipeThrough(new TextDecoderStream()).getReader().read();
    leave.abort();
    expect(first.value).toContain(run_id);
    const body = { thread_id: thread_id.toUpperCase(), run_ids: [run_id.toUpperCase()] };
    expect((await call('POST', '/runs/cancel', body)).status).toBe(204);
  });
});

describe('a checkpoint', () => {
  const nowhere = '1f000000-0000-6000-8000-000000000000';

  test('that the thread does not have is not found, wherever it is named: a run would begin from nothing', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'steps', { input: { left: 2 } });
    const before = await call('GET', `/threads/${thread_id}/history?limit=10`);
    const answer = refusal(404, `has no checkpoint ${nowhere}`);
    const path = `/threads/${thread_id}`;
    for (const named of [
      { checkpoint_id: nowhere },
      { checkpoint: { checkpoint_id: nowhere } },
      { config: { configurable: { checkpoint_id: nowhere } } },
    ])
      expect(await call('POST', `${path}/runs/wait`, { ...steps, ...named })).toEqual(answer);
    expect(
      await call('POST', `${path}/state`, { values: { left: 1 }, checkpoint_id: nowhere }),
    ).toEqual(answer);
    expect(await call('GET', `${path}/state/${nowhere}`)).toEqual(answer);
    expect(
      await call('POST', `${path}/state/checkpoint`, { checkpoint: { checkpoint_id: nowhere } }),
    ).toEqual(answer);
    expect(await call('GET', `${path}/history?limit=10`)).toEqual(before);
  });

  test('is nothing that a run on a thread of its own could go on from', async () => {
    for (const form of ['', '/wait', '/stream'])
      expect(await call('POST', `/runs${form}`, { ...steps, checkpoint_id: nowhere })).toEqual(
        refusal(422, 'checkpoint_id'),
      );
  });
});

describe('a thread', () => {
  test('is not deleted with a run, and says so', async () => {
    const { thread_id } = await agent.client.threads.create();
    const path = `/threads/${thread_id}/runs/wait`;
    expect(await call('POST', path, { ...steps, on_completion: 'delete' })).toEqual(
      refusal(422, 'on_completion'),
    );
    expect((await call('POST', path, { ...steps, on_completion: 'keep' })).status).toBe(200);
  });

  test('tells of its expiry when it is asked, and of nothing that it does not know', async () => {
    const { thread_id } = await agent.client.threads.create();
    expect((await call('GET', `/threads/${thread_id}?include=ttl`)).body).toMatchObject({
      thread_id,
      ttl: null,
    });
    expect((await call('GET', `/threads/${thread_id}`)).body).not.toHaveProperty('ttl');
    expect(await call('GET', `/threads/${thread_id}?include=colour`)).toEqual(
      refusal(422, 'include'),
    );
    expect(await call('POST', '/threads/search', { extract: { last: 5 } })).toEqual(
      refusal(422, 'extract'),
    );
  });

  test('is answered with as little as the client prefers, however it says so', async () => {
    const { thread_id } = await agent.client.threads.create();
    for (const prefer of [
      'return=minimal',
      'respond-async, return=minimal',
      'return="minimal"; foo',
    ])
      expect(
        (await call('PATCH', `/threads/${thread_id}`, { metadata: { a: 1 } }, { prefer })).status,
      ).toBe(204);
    expect(
      (await call('PATCH', `/threads/${thread_id}`, {}, { prefer: 'return=representation' }))
        .status,
    ).toBe(200);
  });
});

test("a change of an assistant's context leaves its other settings, and the other way round", async () => {
  const config = { tags: ['a'], recursion_limit: 7, configurable: { tone: 'kind' } };
  const { assistant_id, ...made } = await agent.client.assistants.create({
    graphId: 'shows',
    config,
  });
  expect(made).toMatchObject({ config, context: { tone: 'kind' } });
  const path = `/assistants/${assistant_id}`;
  const context = { tone: 'curt' };
  expect((await call('PATCH', path, { context })).body).toMatchObject({
    config: { ...config, configurable: context },
    context,
  });
  expect((await call('PATCH', path, { config: { tags: ['b'] } })).body).toMatchObject({
    config: { tags: ['b'], configurable: context },
    context,
  });
  const last = (await call('PATCH', path, { context: {} })).body;
  expect([last['config'], last['context']]).toEqual([{ tags: ['b'] }, {}]);
});

describe('the store', () => {
  const put = (namespace: string[], key: string, value: object): Promise<Answer> =>
    call('PUT', '/store/items', { namespace, key, value });
  const found = async (filter: object): Promise<unknown[]> => {
    const { items } = (
      await call('POST', '/store/items/search', { namespace_prefix: ['cars'], filter })
    ).body;
    return (items as { key: string }[]).map(({ key }) => key).toSorted();
  };

  beforeAll(async () => {
    await put(['cars', 'fast', 'red'], 'a', { doors: 3, maker: { name: 'x' } });
    await put(['cars', 'slow', 'red'], 'b', { doors: 5 });
    await put(['cars', 'slow'], 'c', { doors: 7 });
  });

  test('finds by each of the operators, and by a value that is an object', async () => {
    expect(await found({ doors: { $in: [3, 7] } })).toEqual(['a', 'c']);
    expect(await found({ doors: { $nin: [3, 7] } })).toEqual(['b']);
    expect(await found({ doors: { $gt: 3, $lte: 5 } })).toEqual(['b']);
    expect(await found({ maker: { name: 'x' } })).toEqual(['a']);
  });

  test('refuses an operator that it does not know, and a wrong operand', async () => {
    for (const filter of [
      { doors: { $near: 1 } },
      { doors: { $gt: 1, $near: 1 } },
      { doors: { $in: 3 } },
      { doors: { $gt: 1, name: 'x' } },
    ])
      expect(await call('POST', '/store/items/search', { filter })).toEqual(
        refusal(422, 'body.filter.doors'),
      );
  });

  test('lists namespaces by patterns', async () => {
    const list = async (body: object): Promise<unknown> =>
      (await call('POST', '/store/namespaces', body)).body['namespaces'];
    expect(await list({ prefix: ['cars', '*', 'red'] })).toEqual([
      ['cars', 'fast', 'red'],
      ['cars', 'slow', 'red'],
    ]);
    expect(await list({ prefix: ['*'], suffix: ['slow', '*'] })).toEqual([['cars', 'slow', 'red']]);
    expect(await list({ suffix: ['slow'] })).toEqual([['cars', 'slow']]);
    expect(await list({ suffix: ['a', 'b', 'cars', 'slow'] })).toEqual([]);
  });

  test('refuses a label that can be none, wherever it is given, and an index that is none', async () => {
    expect(await call('DELETE', '/store/items', { namespace: ['a.b'], key: 'k' })).toEqual(
      refusal(422, 'namespace'),
    );
    expect(await call('POST', '/store/items/search', { namespace_prefix: [''] })).toEqual(
      refusal(422, 'namespace_prefix'),
    );
    for (const field of ['prefix', 'suffix'])
      expect(await call('POST', '/store/namespaces', { [field]: ['a.b'] })).toEqual(
        refusal(422, field),
      );
    for (const index of [true, 'doors', [1], {}])
      expect(
        await call('PUT', '/store/items', { namespace: ['a'], key: 'k', value: {}, index }),
      ).toEqual(refusal(422, 'index'));
    for (const index of [false, null, ['doors']])
      expect(
        (await call('PUT', '/store/items', { namespace: ['a'], key: 'k', value: {}, index }))
          .status,
      ).toBe(204);
  });
});

test('a connection without a request is kept for 75 seconds', async () => {
  expect((await fetch(`${agent.url}/ok`)).headers.get('keep-alive')).toBe('timeout=75');
});

test('figures come in the forms there are', async () => {
  expect((await fetch(`${agent.url}/metrics?format=prometheus`)).status).toBe(200);
  expect(await call('GET', '/metrics?format=xml')).toEqual(refusal(422, 'format'));
});

test('a state written by hand and a run of the same moment both count, or the state is refused', async () => {
  const { thread_id } = await agent.client.threads.create();
  await agent.client.runs.wait(thread_id, 'steps', { input: { left: 1 } });
  let written = 0;
  for (let round = 0; round < 20; round += 1) {
    const [state] = await Promise.all([
      call('POST', `/threads/${thread_id}/state`, { values: { done: 100 } }),
      call('POST', `/threads/${thread_id}/runs/wait`, steps),
    ]);
    expect([200, 409]).toContain(state.status);
    if (state.status === 200) written += 1;
  }
  expect((await agent.client.threads.getState(thread_id)).values).toMatchObject({
    done: 21 + 100 * written,
  });
});

test('states of more threads than there are connections are written at their checkpoints at the same time', async () => {
  const env = { GX_POSTGRES_POOL_MAX_SIZE: '2' };
  const small = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/contract/graphs/gx.json',
    env,
  });
  const { threads, runs } = small.client;
  const ids = await Promise.all(
    Array.from({ length: 6 }, async () => (await threads.create()).thread_id),
  );
  for (const id of ids) await runs.wait(id, 'steps', { input: { left: 1 } });
  const places = await Promise.all(
    ids.map(async (id) => (await threads.getState(id)).checkpoint.checkpoint_id!),
  );
  const written = await Promise.allSettled(
    ids.map((id, at) =>
      threads.updateState(id, { values: { done: 7 }, checkpointId: places[at]! }),
    ),
  );
  await small.kill();
  expect(written.map(({ status }) => status)).toEqual(ids.map(() => 'fulfilled'));
});

test('a first state and a first run of the same moment both count, too', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { thread_id } = await agent.client.threads.create({ metadata: { graph_id: 'steps' } });
    const [state] = await Promise.all([
      call('POST', `/threads/${thread_id}/state`, { values: { done: 100 } }),
      call('POST', `/threads/${thread_id}/runs/wait`, steps),
    ]);
    expect((await agent.client.threads.getState(thread_id)).values).toMatchObject({
      done: state.status === 200 ? 101 : 1,
    });
  }
});

test('a run that another one rolls back leaves nothing to it, at whatever moment', async () => {
  const { thread_id } = await agent.client.threads.create();
  for (let round = 1; round <= 8; round += 1) {
    await agent.client.runs.create(thread_id, 'steps', long);
    await new Promise((resolve) => setTimeout(resolve, round * 15));
    const state = await call('POST', `/threads/${thread_id}/runs/wait`, {
      ...steps,
      multitask_strategy: 'rollback',
    });
    expect(state.body).toMatchObject({ done: round });
  }
});

test('a run that is deleted while it works leaves nothing behind', async () => {
  const { thread_id } = await agent.client.threads.create();
  await agent.client.runs.wait(thread_id, 'steps', { input: { left: 1 } });
  const before = await agent.client.threads.getState(thread_id);
  for (let round = 0; round < 5; round += 1) {
    const { run_id } = await agent.client.runs.create(thread_id, 'steps', long);
    await new Promise((resolve) => setTimeout(resolve, round * 20));
    expect((await call('DELETE', `/threads/${thread_id}/runs/${run_id}`)).status).toBe(204);
    expect((await call('GET', `/threads/${thread_id}/runs/${run_id}`)).status).toBe(404);
    expect(await agent.client.threads.getState(thread_id)).toEqual(before);
  }
  expect(
    await database.sql(
      `select 1 from gx.checkpoints where thread_id = $1 and metadata->>'run_id' <> $2`,
      [thread_id, before.metadata!['run_id' as never]],
    ),
  ).toEqual([]);
});

test('a resumable run on a thread of its own can be read again for as long as its events are kept', async () => {
  const body = JSON.stringify({ ...steps, stream_mode: 'custom', stream_resumable: true });
  const response = await fetch(`${agent.url}/runs/stream`, { method: 'POST', body });
  const text = await response.text();
  const again = await fetch(`${agent.url}${response.headers.get('location')}`, {
    headers: { 'last-event-id': '-' },
  });
  expect(await again.text()).toBe(text);
  const runId = response.headers.get('location')!.split('/')[2];
  const [kept] = await database.sql<{ seconds: number }>(
    'select extract(epoch from remove_after - now())::int as seconds from gx.thread where thread_id = (select thread_id from gx.run where run_id = $1)',
    [runId],
  );
  expect(kept!.seconds).toBeGreaterThan(110);
});

describe('the configuration of a call', () => {
  const seen = async (config: object): Promise<Answer> =>
    call('POST', '/runs/wait', { assistant_id: 'shows', input: {}, config });

  test('says how many tasks run at a time, and what the run is called', async () => {
    expect((await seen({ max_concurrency: 3 })).body).toMatchObject({
      seen: { maxConcurrency: 3 },
    });
    expect(await seen({ max_concurrency: 0 })).toEqual(refusal(422, 'max_concurrency'));
    const body = {
      assistant_id: 'steps',
      input: { left: 1 },
      config: { run_name: 'countdown' },
      stream_mode: 'events',
    };
    const text = await (
      await fetch(`${agent.url}/runs/stream`, { method: 'POST', body: JSON.stringify(body) })
    ).text();
    expect(text).toContain('"name":"countdown"');
  });

  test("reaches LangGraph's own settings by no other name", async () => {
    const config = {
      callbacks: 5,
      signal: 5,
      timeout: 1,
      outputKeys: ['x'],
      interruptBefore: ['look'],
      streamMode: 'updates',
      store: 5,
    };
    expect((await seen(config)).body).toMatchObject({
      seen: { configurable: { graph_id: 'shows' } },
    });
    expect((await seen(config)).body['seen']).not.toHaveProperty('timeout');
  });
});

test.each(['checkpoints', 'debug'])(
  '%s tell where they stand, and nothing of what the server puts into a call',
  async (stream_mode) => {
    const { thread_id } = await agent.client.threads.create();
    const body = JSON.stringify({ ...steps, stream_mode });
    const text = await (
      await fetch(`${agent.url}/threads/${thread_id}/runs/stream`, { method: 'POST', body })
    ).text();
    expect(text).not.toMatch(/__pregel_checkpointer|parentConfig/);
    const told = text
      .match(/^data: .*/gm)!
      .map((line) => JSON.parse(line.slice(6)) as { type?: string; payload?: object });
    const payloads =
      stream_mode === 'debug'
        ? told.filter(({ type }) => type === 'checkpoint').map(({ payload }) => payload!)
        : told.slice(1);
    const { checkpoint, parent_checkpoint } = await agent.client.threads.getState(thread_id);
    const place = ({ checkpoint_id, checkpoint_ns }: Record<string, unknown>): object => ({
      thread_id,
      checkpoint_id,
      checkpoint_ns,
    });
    expect(payloads.at(-1)).toMatchObject({
      config: { configurable: place(checkpoint) },
      parent_config: { configurable: place(parent_checkpoint!) },
      ...(stream_mode === 'debug' && {
        checkpoint: place(checkpoint),
        parent_checkpoint: place(parent_checkpoint!),
      }),
    });
    expect(payloads[0]).toMatchObject({
      parent_config: null,
      ...(stream_mode === 'debug' && { parent_checkpoint: null }),
    });
  },
);
