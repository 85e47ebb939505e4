import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  a2aCalls,
  dataMessage,
  resultsIn,
  rpc,
  type A2aCalls,
  type A2aTask,
} from '../../kit/a2a-calls.ts';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';
import { until } from '../../kit/until.ts';
import { startReceiver, type WebhookReceiver } from '../../kit/webhook-receiver.ts';

/* Tasks where one process answers and another executes, as in a deployment, with a key and encryption. */

const KEY = 'a-key-of-this-deployment';

let pair: AgentPair;
let receiver: WebhookReceiver;
let calls: A2aCalls;

beforeAll(async () => {
  receiver = await startReceiver();
  pair = await startPair(
    { GX_AGENT_KEY: KEY, GX_AES_KEY: randomBytes(16).toString('hex') },
    'test/agent/a2a/graphs/push.json',
  );
  calls = a2aCalls({ url: pair.api.url, headers: { 'x-api-key': KEY } });
});

afterAll(async () => {
  await pair.stop();
  await receiver.stop();
});

const lastState = (events: Record<string, unknown>[]): string => {
  const { task, statusUpdate } = events.at(-1) as { task?: A2aTask; statusUpdate?: A2aTask };
  return (task ?? statusUpdate)!.status.state;
};

test('a message is answered with the result of a run elsewhere, which is the task as it is read later', async () => {
  const task = await calls.send('steps', dataMessage({ left: 2 }));
  expect(task).toMatchObject({
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ parts: [{ data: { done: 2 } }] }],
  });
  expect(await calls.get('steps', task.id)).toEqual(task);
  const failed = await calls.send('broken', dataMessage({ how: 'error' }));
  expect(failed.status).toMatchObject({
    state: 'TASK_STATE_FAILED',
    message: { parts: [{ text: 'TypeError: Boo!' }] },
  });
});

test('a question comes from elsewhere, and its answer goes there', async () => {
  const asked = await calls.send('approval', dataMessage({ request: 'go' }));
  expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  const done = await calls.send('approval', dataMessage({ ok: true }, { taskId: asked.id }));
  expect(done).toMatchObject({ id: asked.id, status: { state: 'TASK_STATE_COMPLETED' } });
});

test('a stream tells what happens elsewhere, up to the result', async () => {
  const events = await calls.stream('steps', 'SendStreamingMessage', dataMessage({ left: 3 }));
  expect(events.map((event) => Object.keys(event)[0])).toEqual([
    'task',
    ...['started', 'each of three steps', '', ''].map(() => 'statusUpdate'),
    'artifactUpdate',
    'statusUpdate',
  ]);
  expect(lastState(events)).toBe('TASK_STATE_COMPLETED');
});

test('a task under way elsewhere is joined, and cancelled', async () => {
  const began = await calls.send('broken', {
    ...dataMessage({ how: 'never' }),
    configuration: { returnImmediately: true },
  });
  await until(
    'it works',
    async () => (await calls.get('broken', began.id)).status.state === 'TASK_STATE_WORKING',
  );
  const joined = await calls.post('broken', rpc('SubscribeToTask', { id: began.id }));
  expect(await calls.call('broken', 'CancelTask', { id: began.id })).toMatchObject({
    status: { state: 'TASK_STATE_CANCELED' },
  });
  expect(lastState(resultsIn(await joined.text()))).toBe('TASK_STATE_CANCELED');
});

test('whom a task tells hears of an end elsewhere', async () => {
  const configuration = { taskPushNotificationConfig: { url: `${receiver.url}/elsewhere` } };
  const task = await calls.send('steps', { ...dataMessage({ left: 1 }), configuration });
  const [told] = await until('it is told', () =>
    receiver.at('/elsewhere').length > 0 ? receiver.at('/elsewhere') : undefined,
  );
  expect(told!.body).toEqual({ task });
});
