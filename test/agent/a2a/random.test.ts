import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { changed, randomFrom } from '../../kit/random-changes.ts';

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

const REQUESTS = 600;
/** The same requests each time, so that a failure can be repeated. */
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

const PUSH = { id: 'one', url: 'https://example.com/hook', token: 'word', authentication: { scheme: 'Bearer', credentials: 'word' } };

const paramsOf = (role: string, more: object): object => ({
  ...PUSH,
  taskId: `${THREAD}:${THREAD}`,
  pushNotificationConfig: PUSH,
  pushNotificationConfigId: 'one',
  id: `${THREAD}:${THREAD}`,
  message: { messageId: 'm', role, parts: [{ data: { left: 1 }, ...more }], contextId: THREAD, metadata: { one: 1 } },
  configuration: { acceptedOutputModes: ['text/plain'], historyLength: 1, returnImmediately: false },
  pageSize: 5,
  statusTimestampAfter: '2026-11-23T00:00:00Z',
  includeArtifacts: true,
});

async function post(message: unknown, version: string | undefined): Promise<{ status: number; text: string }> {
  const headers = { 'content-type': 'application/json', ...(version && { 'a2a-version': version }) };
  const response = await fetch(`${agent.url}/a2a/steps`, { method: 'POST', headers, body: JSON.stringify(message) });
  return { status: response.status, text: await response.text() };
}

/** Returns true for an answer that is no message of the protocol, or shows the server's insides. */
const isOdd = (text: string): boolean =>
  /node_modules|\.ts:\d|\n {4}at |Cannot read|is not a function|Internal error/.test(text) || !text.includes('"jsonrpc":"2.0"');

test('no request makes the server fail, or show its insides', async () => {
  const random = randomFrom(SEED);
  const pick = (list: string[]): string => list[Math.floor(random() * list.length)]!;
  const faults: string[] = [];
  let [done, refused] = [0, 0];
  for (let index = 0; index < REQUESTS; index += 1) {
    const isNewer = random() < 0.6;
    const method = pick(isNewer ? NEWER : OLDER);
    const params = isNewer ? paramsOf('ROLE_USER', {}) : paramsOf('user', { kind: 'data' });
    const message = changed({ jsonrpc: '2.0', id: index, method, params }, random);
    const { status, text } = await post(message, isNewer ? '1.0' : undefined);
    if (status >= 500 || isOdd(text)) faults.push(`${status} ${text} for ${JSON.stringify(message)}`);
    if (text.includes('"error"')) refused += 1;
    else done += 1;
  }
  expect(faults).toEqual([]);
  expect([done > 50, refused > 50]).toEqual([true, true]);
  expect(agent.output()).not.toMatch(/a request of A2A failed|request failed/);
});
