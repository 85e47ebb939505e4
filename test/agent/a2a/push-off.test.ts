import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { a2aCalls, dataMessage, type A2aCalls } from '../../kit/a2a-calls.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* A server whose webhooks are switched off tells nobody what becomes of tasks, and says so. */

let agent: AgentProcess;
let database: TestDatabase;
let calls: A2aCalls;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/wire/webhooks/off.json' });
  calls = a2aCalls(agent);
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

test('its card says so', async () => {
  const card: unknown = await (await fetch(`${agent.url}/a2a/steps`)).json();
  expect(card).toMatchObject({ capabilities: { pushNotifications: false, streaming: true } });
});

test.each([
  ['CreateTaskPushNotificationConfig', { url: 'https://example.com/hook' }],
  ['GetTaskPushNotificationConfig', { id: 'one' }],
  ['ListTaskPushNotificationConfigs', {}],
  ['DeleteTaskPushNotificationConfig', { id: 'one' }],
])('%s is refused as the protocol has it', async (method, params) => {
  const taskId = `${randomUUID()}:${randomUUID()}`;
  expect(await calls.call('steps', method, { taskId, ...params })).toMatchObject({ code: -32_003 });
});

test('a message that names whom to tell is refused', async () => {
  const configuration = { taskPushNotificationConfig: { url: 'https://example.com/hook' } };
  expect(
    await calls.call('steps', 'SendMessage', { ...dataMessage({ left: 1 }), configuration }),
  ).toMatchObject({ code: -32_003 });
});
