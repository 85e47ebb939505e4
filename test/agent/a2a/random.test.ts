import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { sendChanged } from '../../kit/changed-requests.ts';

/* Requests that were good once, with something changed at random, are answered or refused, and never break anything. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const SEED = 20_261_123;

/** What can be done without a task is asked for more often than what is refused without one. */
const NEWER = [
  'SendMessage',
  'SendMessage',
  'SendMessage',
  'ListTasks',
  'ListTasks',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'GetExtendedAgentCard',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'BurnTask',
];
const OLDER = [
  'message/send',
  'message/stream',
  'tasks/get',
  'tasks/cancel',
  'tasks/resubscribe',
  'tasks/pushNotificationConfig/set',
  'tasks/pushNotificationConfig/get',
  'tasks/pushNotificationConfig/list',
  'tasks/pushNotificationConfig/delete',
];
const THREAD = '00000000-0000-4000-8000-000000000000';

const PUSH = {
  id: 'one',
  url: 'https://example.com/hook',
  token: 'word',
  authentication: { scheme: 'Bearer', credentials: 'word' },
};

const paramsOf = (role: string, more: object): object => ({
  ...PUSH,
  taskId: `${THREAD}:${THREAD}`,
  pushNotificationConfig: PUSH,
  pushNotificationConfigId: 'one',
  id: `${THREAD}:${THREAD}`,
  message: {
    messageId: 'm',
    role,
    parts: [{ data: { left: 1 }, ...more }],
    contextId: THREAD,
    metadata: { one: 1 },
  },
  configuration: {
    acceptedOutputModes: ['text/plain'],
    historyLength: 1,
    returnImmediately: false,
  },
  pageSize: 5,
  statusTimestampAfter: '2026-11-23T00:00:00Z',
  includeArtifacts: true,
});

test('no request makes the server fail, or show its insides', async () => {
  const { faults, answers } = await sendChanged(`${agent.url}/a2a/steps`, {
    seed: SEED,
    next: (random) => {
      const isNewer = random() < 0.6;
      const methods = isNewer ? NEWER : OLDER;
      const method = methods[Math.floor(random() * methods.length)]!;
      const params = isNewer ? paramsOf('ROLE_USER', {}) : paramsOf('user', { kind: 'data' });
      return { method, params, headers: isNewer ? { 'a2a-version': '1.0' } : {} };
    },
    isMessage: (text) => text.includes('"jsonrpc":"2.0"'),
  });
  expect(faults).toEqual([]);
  const refused = answers.filter(({ text }) => text.includes('"error"')).length;
  expect([answers.length - refused > 50, refused > 50]).toEqual([true, true]);
  expect(agent.output()).not.toMatch(/a request of A2A failed|request failed/);
});
