import { randomUUID } from 'node:crypto';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Handlers of `auth.path` decide over each read and write: another caller's task looks as if it were not there. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/auth/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Task = { id: string; contextId: string; status: { state: string } };
type Message = { result?: unknown; error?: { code: number; message: string } };

const post = (token: string | undefined, assistant: string, body: object): Promise<Response> =>
  fetch(`${agent.url}/a2a/${assistant}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });

async function call(
  token: string,
  method: string,
  params: object,
  assistant = 'approval',
): Promise<Message> {
  return (await (
    await post(token, assistant, { jsonrpc: '2.0', id: 1, method, params })
  ).json()) as Message;
}

const message = (data: object, more: object = {}): object => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ data }], ...more },
});

const send = async (token: string, params: object, assistant?: string): Promise<Task> =>
  ((await call(token, 'SendMessage', params, assistant)).result as { task: Task }).task;

const UNKNOWN = { error: { code: -32_001, message: /^Task not found: / } };

test('whoever is not let in is told so by HTTP', async () => {
  const answer = await post(undefined, 'approval', {});
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  expect((await fetch(`${agent.url}/a2a/approval`)).status).toBe(401);
});

test('AUTH-SCOPE-001, AUTH-SCOPE-002, AUTH-SCOPE-003: the task of another caller is unknown, whatever is asked of it', async () => {
  const { id, contextId } = await send('ann', message({ request: 'go' }));
  const url = 'https://example.com/hook';
  for (const method of ['Create', 'Get', 'Delete'])
    expect(
      await call('bob', `${method}TaskPushNotificationConfig`, { taskId: id, id: 'one', url }),
    ).toMatchObject(UNKNOWN);
  expect(await call('bob', 'ListTaskPushNotificationConfigs', { taskId: id })).toMatchObject(
    UNKNOWN,
  );
  for (const method of ['GetTask', 'CancelTask'])
    expect(await call('bob', method, { id })).toMatchObject(UNKNOWN);
  expect(await call('bob', 'SendMessage', message({ ok: true }, { taskId: id }))).toMatchObject(
    UNKNOWN,
  );
  expect(await call('bob', 'SendMessage', message({ ok: true }, { contextId }))).toMatchObject({
    error: { code: -32_602 },
  });
  expect(await call('bob', 'ListTasks', { contextId })).toMatchObject({
    result: { tasks: [], totalSize: 0 },
  });
  expect(JSON.stringify(await call('bob', 'ListTasks', {}))).not.toContain(id);
  expect(await call('ann', 'GetTask', { id })).toMatchObject({
    result: { id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } },
  });
  expect(await call('ann', 'ListTasks', {})).toMatchObject({
    result: { tasks: [{ id }], totalSize: 1 },
  });
  const done = await send('ann', message({ ok: true }, { taskId: id }));
  expect(done).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } });
});

test.each([
  ['threads:read', 'GetTask'],
  ['threads:update', 'CancelTask'],
])('a handler that refuses %s hides the task from %s', async (event, method) => {
  const { id } = await send('cleo', message({ request: 'go' }));
  expect(await call(`cleo!${event}`, method, { id })).toMatchObject(UNKNOWN);
});

test('a handler that refuses changes of a thread refuses to have others told of its task, which may be listed', async () => {
  const { id: taskId } = await send('dan', message({ request: 'go' }));
  const params = { taskId, id: 'one', url: 'https://example.com/hook' };
  expect(
    await call('dan!threads:update', 'CreateTaskPushNotificationConfig', params),
  ).toMatchObject(UNKNOWN);
  expect(
    await call('dan!threads:update', 'ListTaskPushNotificationConfigs', { taskId }),
  ).toMatchObject({ result: {} });
  expect(await call('dan', 'CreateTaskPushNotificationConfig', params)).toMatchObject({
    result: params,
  });
  expect(
    await call('dan!threads:update', 'DeleteTaskPushNotificationConfig', params),
  ).toMatchObject(UNKNOWN);
  expect(await call('dan', 'ListTaskPushNotificationConfigs', { taskId })).toMatchObject({
    result: { configs: [{ id: 'one' }] },
  });
});

test('a run that names the task of another caller in its metadata has no part in it, nor in whom it tells', async () => {
  const { id: taskId } = await send('hal', message({ request: 'go' }));
  const [, run_id] = taskId.split(':');
  const ivy = new Client({
    apiUrl: agent.url,
    apiKey: null,
    defaultHeaders: { authorization: 'Bearer ivy' },
  });
  const { thread_id } = await ivy.threads.create();
  await ivy.runs.wait(thread_id, 'approval', {
    input: { request: 'go' },
    metadata: { a2a_task_id: run_id },
  });
  const configuration = {
    taskPushNotificationConfig: { id: 'ivy', url: 'https://example.com/hook' },
  };
  const answer = { ...message({ ok: true }, { contextId: thread_id }), configuration };
  expect(await send('ivy', answer)).toMatchObject({
    contextId: thread_id,
    status: { state: 'TASK_STATE_COMPLETED' },
  });
  expect((await call('hal', 'ListTaskPushNotificationConfigs', { taskId })).result).toEqual({});
  expect(await send('hal', message({ ok: true }, { taskId }))).toMatchObject({
    id: taskId,
    status: { state: 'TASK_STATE_COMPLETED' },
  });
});

test('a message that may start no run adds nobody whom its task tells', async () => {
  const { id: taskId } = await send('jo', message({ request: 'go' }));
  const configuration = {
    taskPushNotificationConfig: { id: 'one', url: 'https://example.com/hook' },
  };
  const answer = { ...message({ ok: true }, { taskId }), configuration };
  expect(await call('jo!threads:create_run', 'SendMessage', answer)).toMatchObject({
    error: { code: -32_602 },
  });
  expect((await call('jo', 'ListTaskPushNotificationConfigs', { taskId })).result).toEqual({});
  expect(await call('jo', 'SendMessage', answer)).toMatchObject({
    result: { task: { id: taskId } },
  });
  expect(await call('jo', 'ListTaskPushNotificationConfigs', { taskId })).toMatchObject({
    result: { configs: [{ id: 'one' }] },
  });
});

test('a handler that refuses runs refuses messages, in its own words', async () => {
  expect(
    await call('gil!threads:create_run', 'SendMessage', message({ request: 'go' })),
  ).toMatchObject({ error: { code: -32_602 } });
});

test('an assistant of another caller is not there, nor is its card', async () => {
  const defaultHeaders = { authorization: 'Bearer ann' };
  const client = new Client({
    apiUrl: agent.url,
    apiKey: null,
    defaultHeaders,
    callerOptions: { maxRetries: 0 },
  });
  const { assistant_id } = await client.assistants.create({ graphId: 'who', name: 'Who am I?' });
  expect(
    (await post('bob', assistant_id, { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }))
      .status,
  ).toBe(404);
  const card = '.well-known/agent-card.json';
  for (const path of [
    `a2a/${assistant_id}`,
    `a2a/${assistant_id}/${card}`,
    `${card}?assistant_id=${assistant_id}`,
  ]) {
    const cardOf = (token: string): Promise<Response> =>
      fetch(`${agent.url}/${path}`, { headers: { authorization: `Bearer ${token}` } });
    expect([path, (await cardOf('bob')).status, (await cardOf('ann')).status]).toEqual([
      path,
      404,
      200,
    ]);
  }
  expect(await send('ann', message({ said: 'hello' }), assistant_id)).toMatchObject({
    artifacts: [{ parts: [{ data: { id: 'ann' } }] }],
  });
});
