import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  a2aCalls,
  dataMessage,
  rpc,
  textMessage,
  type A2aCalls,
  type A2aTask,
} from '../../kit/a2a-calls.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import {
  startReceiver,
  type ReceivedWebhook,
  type WebhookReceiver,
} from '../../kit/webhook-receiver.ts';

/* Whom tasks tell what becomes of them, in both versions, on a server that encrypts what it keeps. */

let agent: AgentProcess;
let database: TestDatabase;
let receiver: WebhookReceiver;
let newer: A2aCalls;

beforeAll(async () => {
  database = await freshDatabase();
  receiver = await startReceiver({ '/hangs': () => undefined });
  const env = { GX_AES_KEY: 'k'.repeat(32), GX_WEBHOOK_TIMEOUT_SECS: '300' };
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/a2a/graphs/push.json',
    env,
  });
  newer = a2aCalls(agent);
});

afterAll(async () => {
  await agent.kill();
  await receiver.stop();
  await database.drop();
});

type Config = {
  id: string;
  taskId: string;
  url: string;
  token?: string;
  authentication?: { scheme: string; credentials?: string };
};
type Configs = { configs?: Config[] };

const heard = (path: string, count = 1): Promise<ReceivedWebhook[]> =>
  until(`${count} come to ${path}`, () =>
    receiver.at(path).length >= count ? receiver.at(path) : undefined,
  );

/** Returns a path that nobody else uses, with its URL. */
function place(): { path: string; url: string } {
  const path = `/${randomUUID()}`;
  return { path, url: `${receiver.url}${path}` };
}

const telling = (config: object, more: object = {}): object => ({
  configuration: { taskPushNotificationConfig: config, ...more },
});

const neverEnding = (): Promise<A2aTask> =>
  newer.send('broken', {
    ...dataMessage({ how: 'never' }),
    configuration: { returnImmediately: true },
  });

async function olderCall<T>(method: string, params: object): Promise<T> {
  const response = await newer.post('approval', rpc(method, params), { 'a2a-version': '0.3' });
  const { result, error } = (await response.json()) as { result?: T; error?: T };
  return (error ?? result)!;
}

describe('a message that names whom to tell', () => {
  test('has the end of its task told, whole, with the token and the credentials', async () => {
    const { path, url } = place();
    const authentication = { scheme: 'Bearer', credentials: 'a word' };
    const task = await newer.send('steps', {
      ...dataMessage({ left: 2 }),
      ...telling({ url, token: 't0ken', authentication }),
    });
    const [told] = await heard(path);
    expect(told!.body).toEqual({ task });
    expect(told!.headers).toMatchObject({
      'content-type': 'application/a2a+json',
      'x-a2a-notification-token': 't0ken',
      authorization: 'Bearer a word',
      'webhook-id': expect.any(String) as string,
    });
    expect(receiver.at(path)).toHaveLength(1);
  });

  test('has a question told, the end after the answer, and both by what came later, too', async () => {
    const [first, second] = [place(), place()];
    const asking = await newer.send('approval', {
      ...dataMessage({ request: 'go' }),
      ...telling({ url: first.url }),
    });
    const [asked] = await heard(first.path);
    expect(asked!.body).toEqual({ task: asking });
    const answer = dataMessage({ ok: true }, { taskId: asking.id });
    const done = await newer.send('approval', {
      ...answer,
      ...telling({ url: second.url, id: 'second' }),
    });
    expect((await heard(first.path, 2))[1]!.body).toEqual({ task: done });
    expect((await heard(second.path))[0]!.body).toEqual({ task: done });
    const { configs } = await newer.call<Configs>('approval', 'ListTaskPushNotificationConfigs', {
      taskId: asking.id,
    });
    expect(configs?.map(({ url }) => url).toSorted()).toEqual([first.url, second.url].toSorted());
  });

  test('has a failure told, and a task that is given up', async () => {
    const [failing, waiting] = [place(), place()];
    const failed = await newer.send('broken', {
      ...dataMessage({ how: 'error' }),
      ...telling({ url: failing.url }),
    });
    expect((await heard(failing.path))[0]!.body).toEqual({ task: failed });
    const asking = await newer.send('approval', {
      ...dataMessage({ request: 'go' }),
      ...telling({ url: waiting.url }),
    });
    await heard(waiting.path);
    await newer.call('approval', 'CancelTask', { id: asking.id });
    expect((await heard(waiting.path, 2))[1]!.body).toMatchObject({
      task: { id: asking.id, status: { state: 'TASK_STATE_CANCELED' } },
    });
  });

  test('is refused with a URL that no webhook may have, and starts nothing', async () => {
    const count = async (): Promise<number> =>
      (await database.sql('select run_id from gx.run')).length;
    const before = await count();
    for (const url of [
      'http://169.254.169.254/latest',
      '/hooks/of-an-application',
      'http://10.0.0.1/hook',
      'http://[::ffff:192.168.0.1]/',
      'file:///etc/passwd',
      '/runs',
    ])
      for (const method of ['SendMessage', 'SendStreamingMessage'])
        expect(
          await newer.call('steps', method, { ...dataMessage({ left: 1 }), ...telling({ url }) }),
        ).toMatchObject({
          code: -32_602,
          message: /^configuration.taskPushNotificationConfig.url: The URL /,
        });
    expect(await count()).toBe(before);
  });

  test.each([
    ['a token with a line break', { token: 'a\nb' }, /token: has a character/],
    [
      'credentials with a line break',
      { authentication: { scheme: 'Bearer', credentials: 'a\r\nx: y' } },
      /credentials: have a character/,
    ],
    [
      'a scheme with a space',
      { authentication: { scheme: 'Bea rer', credentials: 'a' } },
      /scheme: is not/,
    ],
    [
      'credentials without a scheme',
      { authentication: { credentials: 'a' } },
      /scheme: is missing/,
    ],
    ['a token that is too long', { token: 'a'.repeat(5000) }, /token/],
  ])('is refused with %s', async (_what, config, message) => {
    const asked = { ...dataMessage({ left: 1 }), ...telling({ url: place().url, ...config }) };
    expect(await newer.call('steps', 'SendMessage', asked)).toMatchObject({
      code: -32_602,
      message,
    });
  });
});

describe('configurations of a task', () => {
  test('are made while it runs, read without what is secret in them, and deleted', async () => {
    const [told, silent] = [place(), place()];
    const { id: taskId } = await neverEnding();
    const given = {
      taskId,
      id: 'mine',
      url: told.url,
      token: 'a secret',
      authentication: { scheme: 'Basic', credentials: 'another' },
    };
    expect(await newer.call<Config>('broken', 'CreateTaskPushNotificationConfig', given)).toEqual(
      given,
    );
    const other = await newer.call<Config>('broken', 'CreateTaskPushNotificationConfig', {
      taskId,
      url: silent.url,
    });
    const shown = { taskId, id: 'mine', url: told.url, authentication: { scheme: 'Basic' } };
    expect(
      await newer.call('broken', 'GetTaskPushNotificationConfig', { taskId, id: 'mine' }),
    ).toEqual(shown);
    const { configs } = await newer.call<Configs>('broken', 'ListTaskPushNotificationConfigs', {
      taskId,
    });
    expect(configs).toHaveLength(2);
    expect(configs).toContainEqual(shown);
    for (const _again of [1, 2])
      await newer.call('broken', 'DeleteTaskPushNotificationConfig', { taskId, id: other.id });
    expect(
      await newer.call('broken', 'GetTaskPushNotificationConfig', { taskId, id: other.id }),
    ).toMatchObject({ code: -32_001 });
    await newer.call('broken', 'CancelTask', { id: taskId });
    const [end] = await heard(told.path);
    expect(end!.body).toMatchObject({
      task: { id: taskId, status: { state: 'TASK_STATE_CANCELED' } },
    });
    expect(end!.headers).toMatchObject({
      'x-a2a-notification-token': 'a secret',
      authorization: 'Basic another',
    });
    expect(receiver.at(silent.path)).toEqual([]);
  });

  test('are replaced by one of the same id', async () => {
    const [before, after] = [place(), place()];
    const { id: taskId } = await neverEnding();
    for (const { url } of [before, after])
      await newer.call('broken', 'CreateTaskPushNotificationConfig', { taskId, id: 'one', url });
    await newer.call('broken', 'CancelTask', { id: taskId });
    await heard(after.path);
    expect(receiver.at(before.path)).toEqual([]);
  });

  test('are few', async () => {
    const { id: taskId } = await newer.send('approval', dataMessage({ request: 'go' }));
    const make = (): Promise<{ code?: number; message?: string }> =>
      newer.call('approval', 'CreateTaskPushNotificationConfig', { taskId, url: place().url });
    for (let made = 0; made < 10; made += 1) expect((await make()).code).toBeUndefined();
    expect(await make()).toMatchObject({ code: -32_602, message: /at most 10/ });
  });

  test('go with their task, and what is still to be told by a deleted one is not', async () => {
    const { path, url } = place();
    const task = await newer.send('chat', { ...textMessage('Hello'), ...telling({ url }) });
    expect((await heard(path))[0]!.body).toEqual({ task });
    await agent.client.threads.delete(task.contextId);
    expect(
      await newer.call('chat', 'ListTaskPushNotificationConfigs', { taskId: task.id }),
    ).toMatchObject({ code: -32_001 });
    const hanging = await newer.send('steps', {
      ...dataMessage({ left: 1 }),
      ...telling({ id: 'slow', url: `${receiver.url}/hangs` }),
    });
    const waiting = (): Promise<unknown[]> =>
      database.sql(`select 1 from gx.webhook where message->>'thread_id' = '${hanging.contextId}'`);
    await heard('/hangs');
    expect(await waiting()).toHaveLength(1);
    await newer.call('steps', 'DeleteTaskPushNotificationConfig', {
      taskId: hanging.id,
      id: 'slow',
    });
    expect(await waiting()).toEqual([]);
  });

  test('lie in the database only encrypted', async () => {
    const { url } = place();
    const config = {
      url,
      token: 'CaNaRy-token',
      authentication: { scheme: 'Bearer', credentials: 'CaNaRy-word' },
    };
    await newer.send('approval', { ...dataMessage({ request: 'CaNaRy' }), ...telling(config) });
    const rows = await database.sql(
      'select r.webhook::text, w.message::text, w.push::text from gx.run r left join gx.webhook w on true',
    );
    expect(JSON.stringify(rows)).toContain('push');
    expect(JSON.stringify(rows)).not.toContain('CaNaRy');
    expect(JSON.stringify(rows)).not.toContain(url);
  });

  test('of an unknown task are not there', async () => {
    const taskId = `${randomUUID()}:${randomUUID()}`;
    const { url } = place();
    for (const [method, params] of [
      ['CreateTaskPushNotificationConfig', { taskId, url }],
      ['GetTaskPushNotificationConfig', { taskId, id: 'one' }],
      ['ListTaskPushNotificationConfigs', { taskId }],
      ['DeleteTaskPushNotificationConfig', { taskId, id: 'one' }],
    ] as const)
      expect(await newer.call('steps', method, params)).toMatchObject({ code: -32_001 });
  });
});

describe('in version 0.3', () => {
  const older = (data: object, more: object = {}): object => ({
    message: {
      kind: 'message',
      messageId: randomUUID(),
      role: 'user',
      parts: [{ kind: 'data', data }],
      ...more,
    },
  });

  test('a message names whom to tell, and what is told is in the words of that version', async () => {
    const { path, url } = place();
    const pushNotificationConfig = {
      url,
      token: 't0ken',
      authentication: { schemes: ['Bearer'], credentials: 'a word' },
    };
    const task = await olderCall<A2aTask>('message/send', {
      ...older({ request: 'go' }),
      configuration: { pushNotificationConfig },
    });
    const [told] = await heard(path);
    expect(told!.body).toMatchObject({
      kind: 'task',
      id: task.id,
      status: { state: 'input-required' },
    });
    expect(told!.headers).toMatchObject({
      'x-a2a-notification-token': 't0ken',
      authorization: 'Bearer a word',
    });
    await olderCall('message/send', older({ ok: true }, { taskId: task.id }));
    expect((await heard(path, 2))[1]!.body).toMatchObject({
      kind: 'task',
      id: task.id,
      status: { state: 'completed' },
    });
  });

  test('configurations are set, read, listed and deleted', async () => {
    const { path, url } = place();
    const { id } = await olderCall<A2aTask>('message/send', older({ request: 'go' }));
    const set = await olderCall<{ pushNotificationConfig: { id: string } }>(
      'tasks/pushNotificationConfig/set',
      {
        taskId: id,
        pushNotificationConfig: { url, token: 't0ken' },
      },
    );
    const { id: configId } = set.pushNotificationConfig;
    expect(set).toMatchObject({ taskId: id, pushNotificationConfig: { url, token: 't0ken' } });
    const shown = { taskId: id, pushNotificationConfig: { id: configId, url } };
    const pushNotificationConfigId = configId;
    expect(
      await olderCall('tasks/pushNotificationConfig/get', { id, pushNotificationConfigId }),
    ).toMatchObject(shown);
    expect(await olderCall('tasks/pushNotificationConfig/get', { id })).toMatchObject(shown);
    expect(await olderCall('tasks/pushNotificationConfig/list', { id })).toMatchObject([shown]);
    await olderCall('message/send', older({ ok: true }, { taskId: id }));
    await heard(path);
    await olderCall('tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId });
    expect(await olderCall('tasks/pushNotificationConfig/list', { id })).toEqual([]);
  });
});
