import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import {
  a2aCalls,
  dataMessage,
  resultsIn,
  rpc,
  textMessage,
  type A2aCalls,
  type A2aTask,
} from '../../kit/a2a-calls.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { keyed, post, type Json } from './keyed.ts';

/* Requests that come again, in the words of other protocols and of the official client, to two processes. */

let database: TestDatabase;
let one: AgentProcess;
let other: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  const config = 'test/agent/a2a/graphs/gx.json';
  [one, other] = await Promise.all([
    startAgent({ database: database.uri, config }),
    startAgent({ database: database.uri, config }),
  ]);
});

afterAll(async () => {
  await Promise.all([one.kill(), other.kill()]);
  await database.drop();
});

const runs = async (): Promise<number> =>
  (await database.sql<{ count: number }>('select count(*)::int as count from gx.run'))[0]!.count;

describe('a message of another agent', () => {
  let calls: A2aCalls;
  let elsewhere: A2aCalls;
  beforeAll(() => {
    calls = a2aCalls({ url: one.url });
    elsewhere = a2aCalls({ url: other.url });
  });

  const AT_ONCE = { configuration: { returnImmediately: true } };

  test('that comes twenty times at one moment is one task', async () => {
    for (const contextId of ['', randomUUID()]) {
      const message = { ...dataMessage({ left: 1 }, contextId === '' ? {} : { contextId }) };
      const before = await runs();
      const tasks = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 2 === 0 ? calls : elsewhere).send('steps', message),
        ),
      );
      expect(tasks.map(({ status }) => status.state)).toEqual(
        tasks.map(() => 'TASK_STATE_COMPLETED'),
      );
      expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
      expect(tasks.map(({ artifacts }) => artifacts![0]!.parts)).toEqual(
        tasks.map(() => [{ data: { left: 0, done: 1 } }]),
      );
      expect((await runs()) - before).toBe(1);
    }
  });

  test('that comes again while its task is under way is answered at its end, by whichever method', async () => {
    const message = dataMessage({ left: 3, pause: 200 });
    const began = await calls.send('steps', { ...message, ...AT_ONCE });
    const [atOnce, atEnd, told] = await Promise.all([
      elsewhere.send('steps', { ...message, ...AT_ONCE }),
      calls.send('steps', message),
      elsewhere.stream('steps', 'SendStreamingMessage', message),
    ]);
    expect([atOnce.id, atOnce.status.state]).toEqual([
      began.id,
      expect.stringMatching(/SUBMITTED|WORKING/),
    ]);
    expect(atEnd).toMatchObject({
      id: began.id,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ data: { done: 3 } }] }],
    });
    expect((told[0]!['task'] as A2aTask).id).toBe(began.id);
    expect(told.at(-1)).toMatchObject({
      statusUpdate: { taskId: began.id, status: { state: 'TASK_STATE_COMPLETED' } },
    });
    const task = await calls.get('steps', began.id);
    const { id: taskId, contextId, status } = task;
    expect(await calls.stream('steps', 'SendStreamingMessage', message)).toEqual([
      { task },
      { statusUpdate: { taskId, contextId, status } },
    ]);
    const legacy = {
      message: {
        ...(message as { message: Json }).message,
        kind: 'message',
        role: 'user',
        parts: [{ kind: 'data', data: { left: 3, pause: 200 } }],
      },
    };
    const answer = await calls.post('steps', rpc('message/send', legacy), { 'a2a-version': '0.3' });
    expect(((await answer.json()) as { result: Json }).result).toMatchObject({
      id: began.id,
      status: { state: 'completed' },
    });
  });

  test('answers a question once, and stays the message that asked for it', async () => {
    const first = dataMessage({ request: 'go' });
    const asked = await calls.send('approval', first);
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(await elsewhere.send('approval', first)).toEqual(asked);
    const inContext = textMessage('yes', { contextId: asked.contextId });
    const answers = await Promise.all(
      [calls, elsewhere, calls].map((at) => at.send('approval', inContext)),
    );
    expect(answers.map(({ id, status }) => [id, status.state])).toEqual(
      answers.map(() => [asked.id, 'TASK_STATE_COMPLETED']),
    );
    expect((await calls.send('approval', first)).status.state).toBe('TASK_STATE_COMPLETED');
    expect(await one.client.runs.list(asked.contextId)).toHaveLength(2);
  });

  test('with other content is a new one, whatever its id', async () => {
    const messageId = randomUUID();
    const send = (left: number, more: object = {}): Promise<A2aTask> =>
      calls.send('steps', dataMessage({ left }, { messageId, ...more }));
    const [first, changed] = [await send(1), await send(2)];
    const context = await send(1, { contextId: first.contextId });
    expect(new Set([first.id, changed.id, context.id]).size).toBe(3);
    expect(changed.artifacts![0]!.parts).toEqual([{ data: { left: 0, done: 2 } }]);
    expect((await send(1)).id).toBe(first.id);
  });

  test('of a task that is gone is told so', async () => {
    const message = dataMessage({ left: 1 });
    const { contextId } = await calls.send('steps', message);
    await one.client.threads.delete(contextId);
    const before = await runs();
    expect(await calls.call('steps', 'SendMessage', message)).toMatchObject({ code: -32_001 });
    expect(
      resultsIn(
        `data: ${await (await calls.post('steps', rpc('SendStreamingMessage', message))).text()}`,
      ),
    ).toMatchObject([{ error: { code: -32_001 } }]);
    expect(await runs()).toBe(before);
  });
});

describe('a call of a tool', () => {
  const accept = { accept: 'application/json, text/event-stream' };
  /** Calls a tool, as a client that numbers its requests anew. */
  async function callTool(
    agent: AgentProcess,
    args: object,
    { name = 'steps', key, id = 1 }: { name?: string; key?: string; id?: number } = {},
  ): Promise<Json> {
    const body = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } };
    const { body: answer } = await post(agent, '/mcp', body, {
      ...accept,
      ...(key !== undefined && { 'idempotency-key': key }),
    });
    const sent =
      answer['text'] === undefined
        ? answer
        : (JSON.parse(/^data: (.*)$/m.exec(answer['text'] as string)![1]!) as Json);
    return (sent['result'] ?? sent['error']) as Json;
  }

  /** Returns an answer with its text as read: its fields come in another order from the database. */
  const readOf = ({ content, ...others }: Json): object => ({
    ...others,
    content: JSON.parse((content as { text: string }[])[0]!.text),
  });

  test('with a key is one run, whatever the number of the request', async () => {
    const [key, before] = [randomUUID(), await made()];
    // The run lasts long enough for all calls to come while it is under way, also on a busy machine.
    const calls = Array.from({ length: 6 }, (_, id) =>
      callTool(id % 2 === 0 ? one : other, { left: 2, pause: 600 }, { key, id }),
    );
    for (const result of await Promise.all(calls))
      expect(result).toMatchObject({ structuredContent: { left: 0, done: 2 } });
    expect((await made()) - before).toBe(1);
    expect(await callTool(one, { left: 3 }, { key })).toMatchObject({
      message: 'header.Idempotency-Key: was used for another request',
    });
  });

  test('without one is a run of its own each time, also under the same number', async () => {
    const before = await made();
    await Promise.all([callTool(one, { left: 1 }), callTool(one, { left: 1 })]);
    expect(await made()).toBe(before);
    const threads = [];
    for (const _ of [1, 2])
      threads.push(
        (await callTool(one, { request: 'go' }, { name: 'approval' }))['structuredContent'],
      );
    expect(new Set(threads.map((state) => (state as Json)['thread_id'])).size).toBe(2);
  });

  test('that asks is found again with its question, and one that is through with its result', async () => {
    const [asks, ends] = [randomUUID(), randomUUID()];
    const asked = await callTool(one, { request: 'go' }, { name: 'approval', key: asks });
    expect((asked['structuredContent'] as Json)['thread_id']).toEqual(expect.any(String));
    const again = await callTool(other, { request: 'go' }, { name: 'approval', key: asks });
    expect(readOf(again)).toEqual(readOf(asked));
    const ended = await callTool(one, { left: 1 }, { key: ends });
    for (const agent of [one, other])
      expect(readOf(await callTool(agent, { left: 1 }, { key: ends }))).toEqual(readOf(ended));
  });

  test('is refused with several others under one key', async () => {
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'steps', arguments: { left: 1 } },
    };
    const answer = await post(one, '/mcp', [call, { ...call, id: 2 }], {
      ...accept,
      'idempotency-key': randomUUID(),
    });
    expect([answer.status, answer.body['error']]).toMatchObject([
      400,
      { message: expect.stringContaining('header.Idempotency-Key: belongs to one call') as string },
    ]);
  });

  /** Calls of tools take their runs with them, so what was made is told by the keys. */
  const made = async (): Promise<number> =>
    (
      await database.sql<{ count: number }>('select count(*)::int as count from gx.idempotency_key')
    )[0]!.count;
});

describe('a command', () => {
  const start = {
    id: 1,
    method: 'run.start',
    params: { assistant_id: 'approval', input: { request: 'go' } },
  };

  test('that answers a question is carried out once, and told to have been', async () => {
    const [thread, key] = [randomUUID(), randomUUID()];
    await post(one, `/threads/${thread}/commands`, start);
    const { interrupts } = await until('it asks', async () => {
      const now = await one.client.threads.get(thread).catch(() => undefined);
      return now?.status === 'interrupted' && now;
    });
    const [{ id: interrupt_id }] = Object.values(interrupts)[0] as [{ id: string }];
    const respond = (id: number) => ({
      id,
      method: 'input.respond',
      params: { interrupt_id, namespace: [], response: 'yes' },
    });
    const all = await Promise.all(
      [one, other, one].map((agent, at) =>
        keyed(agent, `/threads/${thread}/commands`, respond(at), key),
      ),
    );
    all.push(await keyed(other, `/threads/${thread}/commands`, respond(9), key));
    expect(all.map(({ body }) => body['type'])).toEqual(all.map(() => 'success'));
    expect(await one.client.runs.list(thread)).toHaveLength(2);
    const changed = { ...respond(1), params: { ...respond(1).params, response: 'no' } };
    expect((await keyed(one, `/threads/${thread}/commands`, changed, key)).body).toMatchObject({
      type: 'error',
      message: expect.stringContaining('another request') as string,
    });
  });

  test('over a WebSocket is one of its own each time, because its connection has one header for all', async () => {
    const thread = randomUUID();
    const socket = new WebSocket(
      `${one.url.replace('http', 'ws')}/threads/${thread}/stream/events`,
      {
        headers: { 'idempotency-key': randomUUID() },
      },
    );
    await once(socket, 'open');
    const ids = [];
    for (const id of [1, 2]) {
      socket.send(
        JSON.stringify({ ...start, id, params: { assistant_id: 'steps', input: { left: 1 } } }),
      );
      const [answer] = (await once(socket, 'message')) as [Buffer];
      ids.push((JSON.parse(answer.toString()) as { result: Json }).result['run_id']);
    }
    socket.close();
    expect(new Set(ids).size).toBe(2);
  });
});

describe('the official client', () => {
  /** A client all of whose POSTs have this key, with tries that fail. */
  function clientWith(
    keyOf: () => string,
    failing: (at: number, send: () => Promise<Response>) => Promise<Response>,
  ) {
    const tries: (string | null)[] = [];
    const client = new Client({
      apiUrl: one.url,
      apiKey: null,
      onRequest: (_url, init) => {
        const headers = new Headers(init.headers);
        if (init.method === 'POST') headers.set('Idempotency-Key', keyOf());
        return { ...init, headers };
      },
      callerOptions: {
        maxRetries: 2,
        fetch: (url: string, init: RequestInit) => {
          tries.push(new Headers(init.headers).get('idempotency-key'));
          return failing(tries.length, () => fetch(url, init));
        },
      },
    });
    return { client, tries };
  }

  const refused = (): Error =>
    Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } });
  const lost = (): Error =>
    Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });

  test('asks the hook once for all its tries of a request, so that they have one key', async () => {
    const { thread_id } = await one.client.threads.create();
    const { client, tries } = clientWith(randomUUID, (at, send) =>
      at === 1 ? Promise.reject(refused()) : send(),
    );
    await client.runs.create(thread_id, 'steps', { input: { left: 1 } });
    await client.runs.create(thread_id, 'steps', { input: { left: 1 } });
    expect(tries[0]).toBe(tries[1]);
    expect([tries.length, new Set(tries).size]).toEqual([3, 2]);
    expect(await one.client.runs.list(thread_id)).toHaveLength(2);
  });

  test.each([
    [
      'create',
      (client: Client, thread: string) =>
        client.runs.create(thread, 'steps', { input: { left: 1 } }),
    ],
    [
      'wait',
      (client: Client, thread: string) => client.runs.wait(thread, 'steps', { input: { left: 1 } }),
    ],
    [
      'stream',
      (client: Client, thread: string) =>
        Array.fromAsync(client.runs.stream(thread, 'steps', { input: { left: 1 } })),
    ],
  ])(
    'gives up %s when its answer is lost; its caller asks again with the same key, and there is one run',
    async (_, ask) => {
      const { thread_id } = await one.client.threads.create();
      const key = randomUUID();
      let answers = 0;
      const { client } = clientWith(
        () => key,
        async (_at, send) => {
          const answer = await send();
          if ((answers += 1) > 1) return answer;
          await answer.text();
          throw lost();
        },
      );
      await expect(ask(client, thread_id)).rejects.toThrow();
      await ask(client, thread_id);
      expect(await one.client.runs.list(thread_id)).toHaveLength(1);
    },
  );
});

test('a faulty key is refused where a request makes nothing, too', async () => {
  const { thread_id } = await new Client({ apiUrl: one.url }).threads.create();
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const input = {
    threadId: thread_id,
    runId: 'r',
    state: {},
    messages: [],
    tools: [],
    context: [],
  };
  const asked: [path: string, body: object, status: number][] = [
    ['/mcp', list, 400],
    [`/threads/${thread_id}/commands`, { id: 0, method: 'nothing', params: {} }, 422],
    ['/ag-ui/approval', { ...input, forwardedProps: {} }, 422],
  ];
  for (const [path, body, status] of asked) {
    const answer = await fetch(one.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'idempotency-key': 'x'.repeat(256),
      },
      body: JSON.stringify(body),
    });
    expect([path, answer.status, await answer.text()]).toEqual([
      path,
      status,
      expect.stringContaining('must be 1 to 255 visible ASCII characters'),
    ]);
  }
});
