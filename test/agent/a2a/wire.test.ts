import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resultsIn } from '../../kit/a2a-calls.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* What goes over the wire in both versions of the protocol, and the answers to requests that are wrong. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/a2a/graphs/gx.json',
    env: {
      GX_HTTP_MAX_REQUEST_BODY_BYTES: '100000',
      GX_CORS_ALLOW_ORIGINS: 'https://pages.example.com',
    },
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Json = Record<string, unknown>;
type Part = { text?: string; data?: unknown; metadata?: { interrupt_id: string } };
type Task = {
  id: string;
  contextId: string;
  status: { state: string; message: { parts: Part[] } };
  artifacts?: { parts: Part[] }[];
};
type Page = { tasks: Task[]; nextPageToken: string; totalSize: number; pageSize: number };
type Answer = { status: number; message: Json };

function raw(
  assistant: string,
  body: unknown,
  headers: Record<string, string> = VERSION,
): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const all = { 'content-type': 'application/json', ...headers };
  return fetch(`${agent.url}/a2a/${assistant}`, { method: 'POST', headers: all, body: text });
}

async function post(
  assistant: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await raw(assistant, body, headers);
  return { status: response.status, message: (await response.json()) as Json };
}

const VERSION = { 'a2a-version': '1.0' };
const rpc = (method: string, params?: unknown): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  ...(params !== undefined && { params }),
});

/** Sends a request of version 1.0, and returns its result or its error. */
async function call<T = Json>(assistant: string, method: string, params?: unknown): Promise<T> {
  const { message } = await post(assistant, rpc(method, params), VERSION);
  return (message['result'] ?? message['error']) as T;
}

const text = (words: string, more: object = {}): object => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: words }], ...more },
});
const data = (value: unknown, more: object = {}): object => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ data: value }], ...more },
});
const AT_ONCE = { configuration: { returnImmediately: true } };

const send = async (assistant: string, params: object): Promise<Task> =>
  (await call<{ task: Task }>(assistant, 'SendMessage', params)).task;
const getTask = (assistant: string, id: string): Promise<Task> =>
  call<Task>(assistant, 'GetTask', { id });

describe('a task', () => {
  test('is done when the message is answered, with what the agent said as its result', async () => {
    const task = await send('chat', text('Hello'));
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ name: 'result', parts: [{ text: 'I hear you well.' }] }],
    });
    expect(task.id).toMatch(new RegExp(`^${task.contextId}:`));
    expect(await getTask('chat', task.id)).toEqual(task);
    expect(await agent.client.threads.get(task.contextId)).toMatchObject({ status: 'idle' });
  });

  test('of a graph without messages takes and gives data', async () => {
    const task = await send('steps', data({ left: 1 }));
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ data: { left: 0, done: 1 } }] }],
    });
  });

  test('keeps its own result when its context goes on', async () => {
    const first = await send('steps', data({ left: 1 }));
    const second = await send('steps', data({ left: 2 }, { contextId: first.contextId }));
    expect([second.contextId, second.id === first.id]).toEqual([first.contextId, false]);
    expect(second.artifacts?.[0]?.parts[0]?.data).toMatchObject({ done: 3 });
    expect(await getTask('steps', first.id)).toEqual(first);
  });

  test('may be asked for later by a client that does not wait', async () => {
    const task = await send('steps', { ...data({ left: 1 }), ...AT_ONCE });
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED');
    await until(
      'it is done',
      async () => (await getTask('steps', task.id)).status.state === 'TASK_STATE_COMPLETED',
    );
  });

  test('that takes long is waited for, and answered', async () => {
    expect(await send('steps', data({ left: 1, pause: 400 }))).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
    });
  });

  test('that fails says why', async () => {
    const task = await send('broken', data({ how: 'error' }));
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { role: 'ROLE_AGENT', parts: [{ text: 'TypeError: Boo!' }] },
    });
    expect(task.artifacts).toBeUndefined();
  });

  test('begins in a context of the client', async () => {
    const contextId = randomUUID();
    expect(await send('chat', text('Hello', { contextId }))).toMatchObject({ contextId });
  });

  test('labels its run with the metadata of the message', async () => {
    const { id, contextId } = await send('chat', {
      ...text('Hello', { metadata: { one: 1 } }),
      metadata: { two: 2 },
    });
    expect(await agent.client.runs.get(contextId, id.split(':')[1]!)).toMatchObject({
      metadata: { one: 1, two: 2 },
    });
  });

  test('can be cancelled while it works, and only once', async () => {
    const task = await send('broken', { ...data({ how: 'never' }), ...AT_ONCE });
    await until(
      'it works',
      async () => (await getTask('broken', task.id)).status.state === 'TASK_STATE_WORKING',
    );
    const cancelled = await call('broken', 'CancelTask', { id: task.id });
    expect(cancelled).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_CANCELED' } });
    expect(await call('broken', 'CancelTask', { id: task.id })).toMatchObject({ code: -32_002 });
    expect((await getTask('broken', task.id)).status).toMatchObject({
      state: 'TASK_STATE_CANCELED',
    });
  });

  test('that is done can not be cancelled', async () => {
    const { id } = await send('chat', text('Hello'));
    expect(await call('chat', 'CancelTask', { id })).toMatchObject({ code: -32_002 });
  });
});

describe('a task that asks', () => {
  const asking = (): Promise<Task> => send('approval', data({ request: 'go' }));

  test('waits for the answer, which goes on with the same task', async () => {
    const task = await asking();
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: {
        parts: [{ text: '{"question":"May I go?"}' }, { data: { question: 'May I go?' } }],
      },
    });
    expect(await getTask('approval', task.id)).toEqual(task);
    const done = await send('approval', text('yes', { taskId: task.id }));
    expect(done).toMatchObject({
      id: task.id,
      contextId: task.contextId,
      status: { state: 'TASK_STATE_COMPLETED' },
    });
    expect(done.artifacts?.[0]?.parts).toEqual([{ data: { request: 'go', answer: 'yes' } }]);
    expect(await getTask('approval', task.id)).toEqual(done);
  });

  test('is answered by the next message of its context, too, and may be answered with data', async () => {
    const { id, contextId } = await asking();
    const done = await send('approval', data({ ok: true }, { contextId }));
    expect(done).toMatchObject({
      id,
      artifacts: [{ parts: [{ data: { answer: { ok: true } } }] }],
    });
  });

  test('several questions is answered by their ids', async () => {
    const { id, status } = await send('form', data({ request: 'go' }));
    // The two ask at the same time, in either order.
    const ids = new Map(
      status.message.parts.map((part) => [part.text, part.metadata!.interrupt_id]),
    );
    expect(new Set(ids.keys())).toEqual(new Set(['One: may I go?', 'Other: may I go?']));
    const [one, other] = [ids.get('One: may I go?')!, ids.get('Other: may I go?')!];
    expect(await call('form', 'SendMessage', text('yes', { taskId: id }))).toMatchObject({
      code: -32_602,
      message: new RegExp(one),
    });
    const done = await send('form', data({ [one]: 'yes', [other]: 'no' }, { taskId: id }));
    expect(done.artifacts?.[0]?.parts).toEqual([
      { data: { request: 'go', first: 'yes', second: 'no' } },
    ]);
  });

  test('takes no second answer', async () => {
    const { id } = await asking();
    await send('approval', text('yes', { taskId: id }));
    expect(await call('approval', 'SendMessage', text('no', { taskId: id }))).toMatchObject({
      code: -32_004,
    });
  });

  test('can be given up, and the next message of its context is a new task', async () => {
    const { id, contextId } = await asking();
    expect((await call<Task>('approval', 'CancelTask', { id })).status).toMatchObject({
      state: 'TASK_STATE_CANCELED',
    });
    const next = await send('approval', data({ request: 'stay' }, { contextId }));
    expect([next.id === id, next.status.message.parts[1]?.data]).toEqual([
      false,
      { question: 'May I stay?' },
    ]);
    expect((await getTask('approval', id)).status).toMatchObject({ state: 'TASK_STATE_CANCELED' });
  });
});

describe('lists of tasks', () => {
  test('have those of a context, the last first, each of them once', async () => {
    const contextId = randomUUID();
    const asked = await send('approval', data({ request: 'go' }, { contextId }));
    await send('approval', text('yes', { contextId }));
    const second = await send('approval', data({ request: 'stay' }, { contextId }));
    const all = await call<Page>('approval', 'ListTasks', { contextId });
    expect(all).toMatchObject({ totalSize: 2, pageSize: 50, nextPageToken: '' });
    expect(all.tasks).toMatchObject([
      { id: second.id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } },
      { id: asked.id, status: { state: 'TASK_STATE_COMPLETED' } },
    ]);
    expect(all.tasks[1]?.artifacts).toBeUndefined();
    const done = await call('approval', 'ListTasks', {
      contextId,
      status: 'TASK_STATE_COMPLETED',
      includeArtifacts: true,
    });
    expect(done).toMatchObject({
      totalSize: 1,
      tasks: [{ id: asked.id, artifacts: [{ parts: [{ data: { answer: 'yes' } }] }] }],
    });
    const since = await call('approval', 'ListTasks', {
      contextId,
      statusTimestampAfter: '2100-01-01T00:00:00Z',
    });
    expect(since).toMatchObject({ tasks: [], totalSize: 0 });
  });

  test('are counted up to a thousand, and found among many more by what they wait for', async () => {
    const { assistant_id } = await agent.client.assistants.create({
      graphId: 'approval',
      name: 'of many tasks',
    });
    await database.sql(
      `with t as (insert into gx.thread (thread_id, metadata) select gen_random_uuid(), '{}' from generate_series(1, 3000) returning thread_id)
        insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, kwargs, multitask_strategy)
        select gen_random_uuid(), thread_id, $1, 'approval', 'success', '{}', 'enqueue' from t`,
      [assistant_id],
    );
    const asking = await send(assistant_id, data({ request: 'go' }));
    const all = await call<Page>(assistant_id, 'ListTasks', { pageSize: 100 });
    expect([all.totalSize, all.tasks.length, all.tasks[0]?.id]).toEqual([1000, 100, asking.id]);
    const waiting = await call<Page>(assistant_id, 'ListTasks', {
      status: 'TASK_STATE_INPUT_REQUIRED',
    });
    expect([waiting.totalSize, waiting.tasks.map(({ id }) => id)]).toEqual([1, [asking.id]]);
  });

  test('come page by page, each task once, and are those of one assistant', async () => {
    const made: string[] = [];
    for (let at = 0; at < 5; at += 1) made.push((await send('steps', data({ left: 1 }))).id);
    const met: string[] = [];
    let pageToken = '';
    do {
      const page = await call<Page>('steps', 'ListTasks', { pageSize: 2, pageToken });
      met.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(new Set(met).size).toBe(met.length);
    expect(met.slice(0, 5)).toEqual(made.toReversed());
    expect(
      (await call<Page>('broken', 'ListTasks', { contextId: made[0]!.split(':')[0] })).totalSize,
    ).toBe(0);
  });
});

describe('fields under the names of the proto files', () => {
  const proto = (parts: object[], more: object = {}): object => ({
    message: { message_id: randomUUID(), role: 'ROLE_USER', parts, ...more },
  });

  test('are read as those of JSON, wherever the protocol has them', async () => {
    const configuration = {
      accepted_output_modes: ['Text/Plain; charset=utf-8'],
      return_immediately: true,
      history_length: 0,
    };
    const began = await send('approval', {
      ...proto([{ data: { request: 'go' } }]),
      configuration,
    });
    expect(began.status.state).toBe('TASK_STATE_SUBMITTED');
    await until(
      'it asks',
      async () =>
        (await getTask('approval', began.id)).status.state === 'TASK_STATE_INPUT_REQUIRED',
    );
    const done = await send(
      'approval',
      proto([{ text: 'yes' }], { task_id: began.id, context_id: began.contextId }),
    );
    expect(done).toMatchObject({ id: began.id, status: { state: 'TASK_STATE_COMPLETED' } });
    const asked = {
      context_id: began.contextId,
      page_size: 1,
      include_artifacts: true,
      history_length: 0,
    };
    expect(await call('approval', 'ListTasks', asked)).toMatchObject({
      pageSize: 1,
      tasks: [{ id: began.id, artifacts: [{}] }],
    });
    const config = await call<{ id: string }>('approval', 'CreateTaskPushNotificationConfig', {
      task_id: began.id,
      url: 'https://example.com/hook',
    });
    expect(
      await call('approval', 'GetTaskPushNotificationConfig', { task_id: began.id, id: config.id }),
    ).toMatchObject(config);
  });

  test('what is free stays as it was sent', async () => {
    const free = { task_id: 'mine', some_name: { message_id: 1 } };
    const task = await send(
      'approval',
      proto([{ data: { request: 'go', extra_field: 1 } }], { metadata: free }),
    );
    expect(await agent.client.runs.get(task.contextId, task.id.split(':')[1]!)).toMatchObject({
      metadata: free,
    });
  });
});

describe('version 0.3', () => {
  const sent = (words: string, more: object = {}): object => ({
    message: {
      kind: 'message',
      messageId: randomUUID(),
      role: 'user',
      parts: [{ kind: 'text', text: words }],
      ...more,
    },
  });
  const old = async <T = Task>(assistant: string, method: string, params: object): Promise<T> => {
    const { message } = await post(assistant, rpc(method, params));
    return (message['result'] ?? message['error']) as T;
  };

  test('is spoken without a header, in its own words', async () => {
    const task = await old('chat', 'message/send', sent('Hello'));
    expect(task).toMatchObject({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'I hear you well.' }] }],
    });
    expect(await old('chat', 'tasks/get', { id: task.id })).toEqual(task);
    expect(await old('chat', 'tasks/cancel', { id: task.id })).toMatchObject({ code: -32_002 });
  });

  test('goes on with a task that asks', async () => {
    const message = {
      kind: 'message',
      messageId: randomUUID(),
      role: 'user',
      parts: [{ kind: 'data', data: { request: 'go' } }],
    };
    const task = await old('approval', 'message/send', { message });
    expect(task.status.state).toBe('input-required');
    const done = await old(
      'approval',
      'message/send',
      sent('yes', { taskId: task.id, contextId: task.contextId }),
    );
    expect(done).toMatchObject({ id: task.id, status: { state: 'completed' } });
  });

  test('methods of version 1.0 without a header are answered as in 1.0', async () => {
    expect(await old('chat', 'SendMessage', text('Hello'))).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' } },
    });
  });
});

describe('cards', () => {
  const card = async (
    path: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; headers: Headers; body: Json }> => {
    const response = await fetch(`${agent.url}${path}`, { headers });
    const body = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: body === '' ? {} : (JSON.parse(body) as Json),
    };
  };

  test('say where an assistant is, in both versions, and what it takes', async () => {
    const { body, headers } = await card('/a2a/chat/.well-known/agent-card.json');
    expect(body).toMatchObject({
      name: 'chat',
      capabilities: { pushNotifications: true },
      skills: [{ id: /-main$/ }],
    });
    expect(body['supportedInterfaces']).toEqual(
      ['1.0', '0.3'].map((protocolVersion) => ({
        url: body['url'],
        protocolBinding: 'JSONRPC',
        protocolVersion,
      })),
    );
    const [, id] = /\/a2a\/([0-9a-f-]{36})$/.exec(body['url'] as string)!;
    expect((await card(`/a2a/${id}`)).body).toEqual(body);
    expect((await card(`/.well-known/agent-card.json?assistant_id=${id}`)).body).toEqual(body);
    expect((await card('/a2a/chat', { 'if-none-match': headers.get('etag')! })).status).toBe(304);
    // Everybody is let in here, so there is no other card for those who are.
    expect(body).toMatchObject({
      capabilities: { extendedAgentCard: false },
      supportsAuthenticatedExtendedCard: false,
    });
    expect(await call('chat', 'GetExtendedAgentCard')).toMatchObject({ code: -32_004 });
    expect(body['securitySchemes']).toBeUndefined();
  });

  test('of a graph without messages tell that it takes no text', async () => {
    const { body } = await card('/a2a/form');
    expect(body).toMatchObject({
      defaultInputModes: ['application/json'],
      description: /^Asks two people about a request. It takes neither text nor files/,
    });
  });

  test('of a server with several agents need a name, and of none are not there', async () => {
    expect(await card('/.well-known/agent-card.json')).toMatchObject({
      status: 422,
      body: { detail: /several agents: chat/ },
    });
    expect((await card(`/a2a/${randomUUID()}`)).status).toBe(404);
  });
});

describe('what is wrong is answered in the words of the protocol', () => {
  const one = (parts: unknown, more: object = {}): object => ({
    message: { messageId: 'm', role: 'ROLE_USER', parts, ...more },
  });
  const ask =
    (method: string, params?: unknown, assistant = 'chat') =>
    () =>
      post(assistant, rpc(method, params), VERSION);
  const noTask = `${randomUUID()}:${randomUUID()}`;
  const url = 'https://example.com/hook';

  test.each<[string, () => Promise<Answer>, number, number]>([
    ['no JSON', () => post('chat', '{'), 400, -32_700],
    ['an empty body', () => post('chat', ''), 400, -32_600],
    ['a text', () => post('chat', '"hello"'), 200, -32_600],
    ['null', () => post('chat', 'null'), 200, -32_600],
    ['a list of requests', () => post('chat', [rpc('GetTask', { id: noTask })]), 200, -32_600],
    [
      'no version of JSON-RPC',
      () => post('chat', { id: 1, method: 'GetTask', params: { id: noTask } }),
      200,
      -32_600,
    ],
    [
      'an id that is an object',
      () => post('chat', { ...rpc('GetTask', { id: noTask }), id: {} }),
      200,
      -32_600,
    ],
    [
      'another content type',
      () => post('chat', rpc('GetTask', { id: noTask }), { 'content-type': 'text/plain' }),
      415,
      -32_005,
    ],
    [
      'a body that is too large',
      () => post('chat', rpc('SendMessage', text('x'.repeat(200_000)))),
      413,
      -32_000,
    ],
    [
      'a character that no text has',
      () => post('chat', rpc('SendMessage', text('a\u0000b'))),
      400,
      -32_600,
    ],
    [
      'a page that may not call',
      () => post('chat', rpc('GetTask', { id: noTask }), { origin: 'https://evil.example.com' }),
      403,
      -32_000,
    ],
    [
      'a version of the future',
      () => post('chat', rpc('GetTask', { id: noTask }), { 'a2a-version': '9.9' }),
      200,
      -32_009,
    ],
    ['an unknown method', ask('BurnTask', {}), 200, -32_601],
    ['an unknown method of version 0.3', () => post('chat', rpc('tasks/burn', {})), 200, -32_601],
    ['a method of version 0.3 in 1.0', ask('tasks/get', { id: noTask }), 200, -32_601],
    ['no params', ask('GetTask'), 200, -32_602],
    ['params that are a list', ask('SendMessage', []), 200, -32_602],
    ['no message', ask('SendMessage', {}), 200, -32_602],
    [
      'a message without an id',
      ask('SendMessage', { message: { role: 'ROLE_USER', parts: [{ text: 'a' }] } }),
      200,
      -32_602,
    ],
    [
      'a message of the agent',
      ask('SendMessage', {
        message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'a' }] },
      }),
      200,
      -32_602,
    ],
    ['a message without parts', ask('SendMessage', one([])), 200, -32_602],
    ['parts that are no list', ask('SendMessage', one('hello')), 200, -32_602],
    ['a part of nothing', ask('SendMessage', one([{}])), 200, -32_005],
    [
      'a file for a graph that takes none',
      ask('SendMessage', one([{ url }]), 'form'),
      200,
      -32_005,
    ],
    ['data that is no object', ask('SendMessage', one([{ data: [1] }])), 200, -32_005],
    [
      'messages that are no list',
      ask('SendMessage', one([{ data: { messages: 1 } }, { text: 'a' }])),
      200,
      -32_602,
    ],
    [
      'text for a graph that takes none',
      ask('SendMessage', one([{ text: 'a' }]), 'form'),
      200,
      -32_005,
    ],
    [
      'a kind of answer that there is not',
      ask('SendMessage', {
        ...one([{ text: 'a' }]),
        configuration: { acceptedOutputModes: ['image/png'] },
      }),
      200,
      -32_005,
    ],
    [
      'a wish for push notifications to an address of the network inside',
      ask('SendMessage', {
        ...one([{ text: 'a' }]),
        configuration: { taskPushNotificationConfig: { url: 'http://127.0.0.1/hook' } },
      }),
      200,
      -32_602,
    ],
    [
      'a context that is no UUID',
      ask('SendMessage', one([{ text: 'a' }], { contextId: 'mine' })),
      200,
      -32_602,
    ],
    [
      'a message to an unknown task',
      ask('SendMessage', one([{ text: 'a' }], { taskId: noTask })),
      200,
      -32_001,
    ],
    ['an unknown task', ask('GetTask', { id: noTask }), 200, -32_001],
    ['a task id that is none', ask('GetTask', { id: 'x' }), 200, -32_001],
    ['a task id that is a number', ask('GetTask', { id: 5 }), 200, -32_602],
    ['an unknown task to cancel', ask('CancelTask', { id: noTask }), 200, -32_001],
    [
      'an unknown task of version 0.3',
      () => post('chat', rpc('tasks/get', { id: noTask })),
      200,
      -32_001,
    ],
    [
      'a message of version 0.3 without parts',
      () => post('chat', rpc('message/send', { message: { messageId: 'm', role: 'user' } })),
      200,
      -32_602,
    ],
    [
      'a part of an unknown kind',
      () =>
        post(
          'chat',
          rpc('message/send', {
            message: { messageId: 'm', role: 'user', parts: [{ kind: 'x' }] },
          }),
        ),
      200,
      -32_602,
    ],
    ['a page that is too large', ask('ListTasks', { pageSize: 1000 }), 200, -32_602],
    ['a page token that no page had', ask('ListTasks', { pageToken: '!' }), 200, -32_602],
    ['a state that there is not', ask('ListTasks', { status: 'DONE' }), 200, -32_602],
    ['a time that is none', ask('ListTasks', { statusTimestampAfter: 'yesterday' }), 200, -32_602],
    [
      'push notifications of an unknown task',
      ask('CreateTaskPushNotificationConfig', { taskId: noTask, url }),
      200,
      -32_001,
    ],
    [
      'push notifications without a URL',
      ask('CreateTaskPushNotificationConfig', { taskId: noTask }),
      200,
      -32_602,
    ],
    [
      'a configuration without its id',
      ask('GetTaskPushNotificationConfig', { taskId: noTask }),
      200,
      -32_602,
    ],
    ['a stream of an unknown task', ask('SubscribeToTask', { id: noTask }), 200, -32_001],
    ['a stream for a message without parts', ask('SendStreamingMessage', one([])), 200, -32_602],
    [
      'a stream for a file that it takes not',
      ask('SendStreamingMessage', one([{ url }]), 'form'),
      200,
      -32_005,
    ],
    [
      'a field under both of its names',
      ask('GetTask', { id: noTask, historyLength: 1, history_length: 1 }),
      200,
      -32_602,
    ],
    [
      'a field of the proto name that is wrong',
      ask('SendMessage', one([{ text: 'a' }], { context_id: 5 })),
      200,
      -32_602,
    ],
    ['an unknown assistant', ask('GetTask', { id: noTask }, randomUUID()), 404, -32_000],
    ['an assistant that is no id', ask('GetTask', { id: noTask }, 'nobody'), 400, -32_600],
  ])('%s', async (_what, request, status, code) => {
    const answer = await request();
    expect([answer.status, answer.message]).toMatchObject([
      status,
      { jsonrpc: '2.0', error: { code } },
    ]);
    expect(JSON.stringify(answer.message)).not.toMatch(/\.ts:|node_modules| {4}at |undefined/);
  });

  test('the task of another assistant is unknown', async () => {
    const { id } = await send('chat', text('Hello'));
    expect(await call('steps', 'GetTask', { id })).toMatchObject({ code: -32_001 });
  });

  test('the stream of a task that asks ends with that', async () => {
    const { id } = await send('approval', data({ request: 'go' }));
    const events = resultsIn(await (await raw('approval', rpc('SubscribeToTask', { id }))).text());
    const asking = { id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } };
    expect(events).toMatchObject([
      { task: asking },
      { statusUpdate: { taskId: id, status: asking.status } },
    ]);
  });

  test('a task that has ended has no stream', async () => {
    const { id } = await send('chat', text('Hello'));
    expect(await call('chat', 'SubscribeToTask', { id })).toMatchObject({ code: -32_004 });
    const { message } = await post('chat', rpc('tasks/resubscribe', { id }));
    expect(message).toMatchObject({ id: 1, error: { code: -32_004 } });
  });

  test('DELETE is not allowed', async () => {
    const response = await fetch(`${agent.url}/a2a/chat`, { method: 'DELETE' });
    expect(response.status).toBe(405);
  });
});
