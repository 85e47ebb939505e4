import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* A run without a context is one with an empty context: its fields have their defaults, or are missed by name. */

let database: Awaited<ReturnType<typeof freshDatabase>>;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/contexts/graphs/gx.json',
  });
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

const DEFAULTS = { tone: 'calm', length: 4 };
const INPUT = { said: 'hello' };

async function post<T>(path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(agent.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  });
  return (await answer.json()) as T;
}

const newThread = async (): Promise<string> => (await agent.client.threads.create()).thread_id;

/** The ways in which a request gives no context. */
const EMPTY: [string, object][] = [
  ['nothing', {}],
  ['an empty context', { context: {} }],
  ['null', { context: null }],
  ['an empty config', { config: {} }],
  ['null as config', { config: null }],
  ['an empty configurable', { config: { configurable: {} } }],
  ['both of them empty', { context: {}, config: { configurable: {} } }],
  ['a config without settings', { config: { recursion_limit: 10, tags: [] } }],
];

describe.each(['styled', 'made'])('the graph %s has its defaults', (assistant_id) => {
  test.each(EMPTY)('in a run with %s, and in the run with its answer', async (_, more) => {
    const path = `/threads/${await newThread()}/runs/wait`;
    expect(await post(path, { assistant_id, input: INPUT, ...more })).toMatchObject({
      first: DEFAULTS,
    });
    expect(await post(path, { assistant_id, command: { resume: 'yes' }, ...more })).toMatchObject({
      first: DEFAULTS,
      second: DEFAULTS,
    });
  });

  test('in an answer that has none behind a run that had one, and beside the fields of one', async () => {
    const path = `/threads/${await newThread()}/runs/wait`;
    expect(
      await post(path, { assistant_id, input: INPUT, context: { tone: 'sharp' } }),
    ).toMatchObject({
      first: { tone: 'sharp', length: 4 },
    });
    expect(await post(path, { assistant_id, command: { resume: 'yes' } })).toMatchObject({
      second: DEFAULTS,
    });
    const configurable = { length: 9 };
    expect(
      await post('/runs/wait', { assistant_id, input: INPUT, config: { configurable } }),
    ).toMatchObject({
      first: { tone: 'calm', length: 9 },
    });
  });

  test('in runs without a thread, of a batch, of a stream, and of a command of event streaming', async () => {
    expect(await post('/runs/wait', { assistant_id, input: INPUT })).toMatchObject({
      first: DEFAULTS,
    });
    const body = [{ assistant_id, input: INPUT, on_completion: 'keep' }];
    const [run] = await post<{ thread_id: string; run_id: string }[]>('/runs/batch', body);
    await agent.client.runs.join(run!.thread_id, run!.run_id);
    expect((await agent.client.threads.get(run!.thread_id)).values).toMatchObject({
      first: DEFAULTS,
    });
    const events = await Array.fromAsync(
      agent.client.runs.stream(null, assistant_id, { input: INPUT, streamMode: 'values' }),
    );
    expect(events.at(-1)!.data).toMatchObject({ first: DEFAULTS });
    const thread_id = await newThread();
    await post(`/threads/${thread_id}/commands`, {
      id: 1,
      method: 'run.start',
      params: { assistant_id, input: INPUT },
    });
    await expect
      .poll(async () => (await agent.client.threads.get(thread_id)).values)
      .toMatchObject({ first: DEFAULTS });
  });

  test('in runs of a cron', async () => {
    const thread_id = await newThread();
    const cron = await agent.client.crons.createForThread(thread_id, assistant_id, {
      schedule: '* * * * * *',
      input: INPUT,
    });
    await expect
      .poll(async () => (await agent.client.threads.get(thread_id)).values)
      .toMatchObject({ first: DEFAULTS });
    await agent.client.crons.delete(cron.cron_id);
  });

  test('in calls of MCP and A2A', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    };
    const called = await fetch(`${agent.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': assistant_id,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: assistant_id, arguments: INPUT, _meta: meta },
      }),
    });
    expect([called.status, await called.text()]).toEqual([200, expect.stringContaining('go?')]);
    const [thread] = await agent.client.threads.search({
      status: 'interrupted',
      sortBy: 'created_at',
      limit: 1,
    } as never);
    expect(thread!.values).toMatchObject({ first: DEFAULTS });
    const [assistant] = await agent.client.assistants.search({ graphId: assistant_id });
    const message = {
      role: 'user',
      parts: [{ kind: 'data', data: INPUT }],
      messageId: crypto.randomUUID(),
      kind: 'message',
    };
    const sent = await post<{ result?: { contextId: string }; error?: unknown }>(
      `/a2a/${assistant!.assistant_id}`,
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'message/send',
        params: { message },
      },
    );
    expect(sent.error).toBeUndefined();
    const { values } = await agent.client.threads.get(sent.result!.contextId);
    expect(values).toMatchObject({ first: DEFAULTS });
  });

  test('in runs of an assistant that has some fields, or has lost them', async () => {
    const assistant = await agent.client.assistants.create({
      graphId: assistant_id,
      context: { length: 2 },
    });
    const run = (): Promise<unknown> =>
      post('/runs/wait', { assistant_id: assistant.assistant_id, input: INPUT, context: {} });
    expect(await run()).toMatchObject({ first: { tone: 'calm', length: 2 } });
    await agent.client.assistants.update(assistant.assistant_id, { context: {} });
    expect(await run()).toMatchObject({ first: DEFAULTS });
  });
});

test.each(EMPTY)('a field that must be given fails the run by its name: %s', async (_, more) => {
  const { thread_id } = await agent.client.threads.create();
  const failed = await post<{ __error__: { message: string } }>(`/threads/${thread_id}/runs/wait`, {
    assistant_id: 'named',
    input: INPUT,
    ...more,
  });
  expect(failed.__error__.message).toContain('user_id');
  const context = { user_id: 'ann' };
  const values = await post(`/threads/${thread_id}/runs/wait`, {
    assistant_id: 'named',
    input: INPUT,
    context,
  });
  expect(values).toMatchObject({ first: { user_id: 'ann', tone: 'calm' } });
});

test.each(EMPTY)('a graph that describes no context has an empty one: %s', async (_, more) => {
  expect(await post('/runs/wait', { assistant_id: 'plain', input: INPUT, ...more })).toMatchObject({
    first: {},
  });
});
