import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  a2aCalls,
  dataMessage,
  resultsIn,
  rpc,
  textMessage,
  type A2aCalls,
  type A2aError,
  type A2aTask,
} from '../../kit/a2a-calls.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { startReceiver, type WebhookReceiver } from '../../kit/webhook-receiver.ts';

/*
 * What the protocol's own test kit (a2aproject/a2a-tck) requires of a server that speaks JSON-RPC, by the ids that it
 * has there: what every server must do, and what the capabilities on the card promise. Left out are other bindings
 * (GRPC, HTTP_JSON, BIND-EQUIV), what concerns clients (VER-CLIENT, AUTH-SERVER-001), TLS, which a proxy ends, and
 * what agents here have not: required extensions (CORE-CAP-004), signed cards (CARD-SIGN), answers without a task
 * (CORE-STREAM-002, DM-MSG-001), histories (CORE-HIST-004 to 006), credentials within a task (AUTH-INTASK), a card that
 * is promised and then missing (CARD-EXT-002). AUTH-SCOPE needs two callers, which callers.test.ts has.
 */

let agent: AgentProcess;
let guarded: AgentProcess;
let database: TestDatabase;
let receiver: WebhookReceiver;
let calls: A2aCalls;

const KEY = 'a-key-of-this-deployment';

beforeAll(async () => {
  [database, receiver] = await Promise.all([freshDatabase(), startReceiver()]);
  const options = { database: database.uri, config: 'test/agent/a2a/graphs/push.json' };
  agent = await startAgent(options);
  guarded = await startAgent({ ...options, env: { GX_AGENT_KEY: KEY } });
  calls = a2aCalls(agent);
});

afterAll(async () => {
  await agent.kill();
  await guarded.kill();
  await receiver.stop();
  await database.drop();
});

const AT_ONCE = { configuration: { returnImmediately: true } };
const noTask = (): string => `${randomUUID()}:${randomUUID()}`;
const done = (): Promise<A2aTask> => calls.send('chat', textMessage('Hello'));
const asking = (): Promise<A2aTask> => calls.send('approval', dataMessage({ request: 'go' }));
const working = async (): Promise<A2aTask> => {
  const { id } = await calls.send('broken', { ...dataMessage({ how: 'never' }), ...AT_ONCE });
  return until('it works', async () => {
    const task = await calls.get('broken', id);
    return task.status.state === 'TASK_STATE_WORKING' ? task : undefined;
  });
};
const steps = (left: number, more: object = {}): Promise<A2aTask> =>
  calls.send('steps', { ...dataMessage({ left }), ...more });

type Page = { tasks?: A2aTask[]; nextPageToken: string; totalSize: number };
const list = (assistant: string, params: object): Promise<Page> =>
  calls.call<Page>(assistant, 'ListTasks', params);

const stateIn = (event: Record<string, unknown> | undefined): string | undefined => {
  const { task, statusUpdate } = (event ?? {}) as { task?: A2aTask; statusUpdate?: A2aTask };
  return (task ?? statusUpdate)?.status.state;
};

describe('SendMessage', () => {
  test('CORE-SEND-001, DM-TASK-001, DM-STATUS-001: answers with a task, which has an id and a state', async () => {
    expect(await calls.call('chat', 'SendMessage', textMessage('Hello'))).toEqual({
      task: expect.objectContaining({
        id: expect.any(String) as string,
        status: expect.objectContaining({ state: expect.any(String) }),
      }),
    });
  });

  test('CORE-SEND-002: a task that has ended takes no message', async () => {
    const { id: taskId } = await done();
    expect(await calls.call('chat', 'SendMessage', textMessage('More', { taskId }))).toMatchObject({
      code: -32_004,
    });
    const { id } = await asking();
    await calls.call('approval', 'CancelTask', { id });
    expect(
      await calls.call('approval', 'SendMessage', textMessage('yes', { taskId: id })),
    ).toMatchObject({ code: -32_004 });
  });

  test('CORE-SEND-003: a media type that the agent does not take is refused', async () => {
    const parts = [
      { raw: Buffer.from('x').toString('base64'), mediaType: 'application/x-unknown' },
    ];
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts };
    expect(await calls.call('chat', 'SendMessage', { message })).toMatchObject({ code: -32_005 });
  });

  test('CORE-EXECUTION-MODE-001: waits for the end, or for a question', async () => {
    expect((await done()).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await asking()).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  test('CORE-EXECUTION-MODE-002: does not wait where the client says so', async () => {
    expect((await steps(3, AT_ONCE)).status.state).toMatch(/SUBMITTED|WORKING/);
  });

  test('CORE-MULTI-001, CORE-MULTI-001a, CORE-MULTI-003: makes a context and a task with ids of their own', async () => {
    const [one, other] = [await done(), await done()];
    expect(new Set([one.id, other.id, one.contextId, other.contextId]).size).toBe(4);
  });

  test('CORE-MULTI-002: keeps the context that the client names', async () => {
    const contextId = randomUUID();
    expect((await calls.send('chat', textMessage('Hello', { contextId }))).contextId).toBe(
      contextId,
    );
  });

  test('CORE-MULTI-002a: refuses a context that it can not have', async () => {
    expect(
      await calls.call('chat', 'SendMessage', textMessage('Hello', { contextId: 'mine' })),
    ).toMatchObject({ code: -32_602 });
  });

  test('CORE-MULTI-004: refuses a message to a task that there is not', async () => {
    expect(
      await calls.call('chat', 'SendMessage', textMessage('Hello', { taskId: noTask() })),
    ).toMatchObject({ code: -32_001 });
  });

  test('CORE-MULTI-005: knows the context by the task', async () => {
    const { id: taskId, contextId } = await asking();
    expect(await calls.send('approval', textMessage('yes', { taskId }))).toMatchObject({
      id: taskId,
      contextId,
    });
  });

  test('CORE-MULTI-006: refuses a task of another context', async () => {
    const { id: taskId } = await asking();
    const params = textMessage('yes', { taskId, contextId: randomUUID() });
    expect(await calls.call('approval', 'SendMessage', params)).toMatchObject({ code: -32_602 });
    expect((await calls.get('approval', taskId)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });
});

describe('GetTask', () => {
  test('CORE-GET-001, DM-ART-001, DM-PART-001: gives the state and the artifacts, whose parts have one content each', async () => {
    const task = await done();
    const got = await calls.get('chat', task.id);
    expect(got).toEqual(task);
    for (const { artifactId, parts } of got.artifacts!) {
      expect(artifactId).not.toBe('');
      for (const part of parts)
        expect(['text', 'data', 'raw', 'url'].filter((kind) => kind in part)).toHaveLength(1);
    }
  });

  test('CORE-GET-002: knows no task that there is not', async () => {
    expect(await calls.call('chat', 'GetTask', { id: noTask() })).toMatchObject({ code: -32_001 });
  });

  test('CORE-HIST-001, CORE-HIST-002, CORE-HIST-003: never gives more of the history than was asked for', async () => {
    const { id } = await calls.send('chat', {
      ...textMessage('Hello'),
      configuration: { historyLength: 0 },
    });
    for (const historyLength of [0, 1])
      expect(
        (await calls.call<{ history?: unknown[] }>('chat', 'GetTask', { id, historyLength }))
          .history ?? [],
      ).toEqual([]);
  });
});

describe('ListTasks', () => {
  test('CORE-LIST-001: gives what the caller may see', async () => {
    const { contextId } = await done();
    const none = a2aCalls({ url: guarded.url, headers: { 'x-api-key': 'another' } });
    expect((await none.post('chat', rpc('ListTasks', { contextId }))).status).toBe(401);
    expect(await list('chat', { contextId })).toMatchObject({ totalSize: 1 });
  });

  test('CORE-LIST-002, CORE-LIST-003, CORE-LIST-004: comes page by page, the last changed first, up to an empty token', async () => {
    const contextId = randomUUID();
    for (const left of [1, 2, 3]) await steps(left, { message: { ...messageIn(contextId, left) } });
    const times: string[] = [];
    let [pageToken, pages] = ['', 0];
    do {
      const page = await list('steps', { contextId, pageSize: 2, pageToken });
      times.push(...page.tasks!.map(({ status }) => status.timestamp));
      ({ nextPageToken: pageToken } = page);
      pages += 1;
    } while (pageToken !== '');
    expect([pages, times.length]).toEqual([2, 3]);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  test('CORE-LIST-005: leaves artifacts out, unless they are asked for', async () => {
    const { contextId } = await done();
    expect(Object.keys((await list('chat', { contextId })).tasks![0]!)).not.toContain('artifacts');
    expect(
      (await list('chat', { contextId, includeArtifacts: true })).tasks![0]!.artifacts,
    ).toHaveLength(1);
  });
});

const messageIn = (contextId: string, left: number): object => ({
  messageId: randomUUID(),
  role: 'ROLE_USER',
  parts: [{ data: { left } }],
  contextId,
});

describe('CancelTask', () => {
  test('CORE-CANCEL-001: gives the task as it is after it was cancelled', async () => {
    const { id } = await working();
    expect(await calls.call('broken', 'CancelTask', { id })).toMatchObject({
      id,
      status: { state: 'TASK_STATE_CANCELED' },
    });
  });

  test('CORE-CANCEL-002: refuses a task that has ended: completed, failed or cancelled', async () => {
    const failed = await calls.send('broken', dataMessage({ how: 'error' }));
    const cancelled = await working();
    await calls.call('broken', 'CancelTask', { id: cancelled.id });
    for (const [assistant, { id }] of [
      ['chat', await done()],
      ['broken', failed],
      ['broken', cancelled],
    ] as const)
      expect(await calls.call(assistant, 'CancelTask', { id })).toMatchObject({ code: -32_002 });
  });

  test('CORE-CANCEL-003: knows no task that there is not', async () => {
    expect(await calls.call('chat', 'CancelTask', { id: noTask() })).toMatchObject({
      code: -32_001,
    });
  });
});

describe('streams', () => {
  test('CORE-STREAM-001, CORE-STREAM-003, STREAM-ORDER-001: begin with the task, tell in order, and end with its last state', async () => {
    const answer = await calls.post('steps', rpc('SendStreamingMessage', dataMessage({ left: 3 })));
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const events = resultsIn(await answer.text());
    expect(Object.keys(events[0]!)).toEqual(['task']);
    const states = events.map(stateIn).filter((state) => state !== undefined);
    const rank = ['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];
    const ranks = states.map((state) => rank.indexOf(state));
    expect(ranks).toEqual(ranks.toSorted((one, other) => one - other));
    expect(stateIn(events.at(-1))).toBe('TASK_STATE_COMPLETED');
  });

  test('STREAM-ORDER-002, STREAM-ORDER-003, STREAM-ORDER-004: go to all who listen in one order, whoever leaves', async () => {
    // The message's own stream makes that the task tells what happens.
    const first = await calls.post(
      'steps',
      rpc('SendStreamingMessage', dataMessage({ left: 6, pause: 150 })),
    );
    const reader = first.body!.getReader();
    const begun = await readUntil(reader, '"task"');
    const { task } = resultsIn(begun)[0] as { task: A2aTask };
    const joined = await Promise.all(
      [1, 2, 3].map(() => calls.post('steps', rpc('SubscribeToTask', { id: task.id }))),
    );
    await reader.cancel();
    await joined[0]!.body!.cancel();
    const [one, other] = await Promise.all(
      joined.slice(1).map(async (answer) => resultsIn(await answer.text())),
    );
    for (const events of [one!, other!]) {
      expect(Object.keys(events[0]!)).toEqual(['task']);
      expect(stateIn(events.at(-1))).toBe('TASK_STATE_COMPLETED');
    }
    const told = (events: Record<string, unknown>[]): string[] =>
      events.slice(1).map((event) => JSON.stringify(partsOf(event)));
    const [fewer, more] = [told(one!), told(other!)].toSorted((a, b) => a.length - b.length);
    // One of them may have come a step later.
    expect(more!.slice(-fewer!.length)).toEqual(fewer);
  });

  test('STREAM-SUB-001, STREAM-SUB-002: a task that is joined comes first, and the stream ends with it', async () => {
    const { id } = await working();
    const answer = await calls.post('broken', rpc('SubscribeToTask', { id }));
    const reader = answer.body!.getReader();
    const begun = await readUntil(reader, '"task"');
    expect(resultsIn(begun)[0]).toMatchObject({
      task: { id, status: { state: 'TASK_STATE_WORKING' } },
    });
    await calls.call('broken', 'CancelTask', { id });
    const rest = resultsIn(begun + (await readUntil(reader)));
    expect(stateIn(rest.at(-1))).toBe('TASK_STATE_CANCELED');
  });

  test('STREAM-SUB-003: a task that has ended can not be joined', async () => {
    const { id } = await done();
    expect(await calls.call('chat', 'SubscribeToTask', { id })).toMatchObject({ code: -32_004 });
  });

  test('STREAM-SUB-004: nor one that there is not', async () => {
    expect(await calls.call('chat', 'SubscribeToTask', { id: noTask() })).toMatchObject({
      code: -32_001,
    });
  });
});

/** What an event says, without ids and times of its own. */
const partsOf = (event: Record<string, unknown>): unknown => {
  const { statusUpdate, artifactUpdate } = event as {
    statusUpdate?: { status: { state: string; message?: { parts: unknown } } };
    artifactUpdate?: { artifact: { parts: unknown } };
  };
  return [
    statusUpdate?.status.state,
    statusUpdate?.status.message?.parts,
    artifactUpdate?.artifact.parts,
  ];
};

/** Reads a stream up to some text, or to its end. */
async function readUntil(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  word?: string,
): Promise<string> {
  let text = '';
  for (;;) {
    const { done: over, value } = await reader.read();
    text += Buffer.from(value ?? []).toString();
    if (over || (word !== undefined && text.includes(word) && text.endsWith('\r\n\r\n')))
      return text;
  }
}

describe('push notifications', () => {
  const params = (taskId: string): { taskId: string; id: string; url: string } => ({
    taskId,
    id: randomUUID(),
    url: `${receiver.url}/none`,
  });

  test('PUSH-CREATE-001, PUSH-CREATE-002, PUSH-GET-001, PUSH-LIST-001: a configuration is made, given and listed', async () => {
    const { id: taskId } = await asking();
    const config = params(taskId);
    expect(await calls.call('approval', 'CreateTaskPushNotificationConfig', config)).toEqual(
      config,
    );
    expect(
      await calls.call('approval', 'GetTaskPushNotificationConfig', { taskId, id: config.id }),
    ).toEqual(config);
    expect(await calls.call('approval', 'ListTaskPushNotificationConfigs', { taskId })).toEqual({
      configs: [config],
    });
  });

  test('PUSH-GET-002: one that there is not is not given', async () => {
    const { id: taskId } = await asking();
    expect(
      await calls.call('approval', 'GetTaskPushNotificationConfig', { taskId, id: 'none' }),
    ).toMatchObject({ code: -32_001 });
  });

  test('PUSH-DEL-001, PUSH-DEL-002: one is deleted, once and again', async () => {
    const { id: taskId } = await asking();
    const config = params(taskId);
    await calls.call('approval', 'CreateTaskPushNotificationConfig', config);
    for (const _again of [1, 2])
      expect(
        await calls.call<Partial<A2aError> | null>(
          'approval',
          'DeleteTaskPushNotificationConfig',
          config,
        ),
      ).not.toMatchObject({
        code: expect.any(Number) as number,
      });
    expect(await calls.call('approval', 'ListTaskPushNotificationConfigs', { taskId })).toEqual({});
  });

  test('PUSH-DELIVER-001, PUSH-DELIVER-002, PUSH-DELIVER-003: a change is told, with credentials, as a StreamResponse', async () => {
    const path = `/${randomUUID()}`;
    const authentication = { scheme: 'Bearer', credentials: 'a-word' };
    const configuration = {
      taskPushNotificationConfig: { url: receiver.url + path, authentication },
    };
    const { id: taskId } = await calls.send('approval', {
      ...dataMessage({ request: 'go' }),
      configuration,
    });
    await calls.send('approval', textMessage('yes', { taskId }));
    const told = await until('both ends are told', () =>
      receiver.at(path).length > 1 ? receiver.at(path) : undefined,
    );
    for (const { headers, body } of told) {
      expect(headers).toMatchObject({
        authorization: 'Bearer a-word',
        'content-type': 'application/a2a+json',
      });
      expect(Object.keys(body)).toEqual(['task']);
    }
    expect(told.map(({ body }) => stateIn(body))).toEqual([
      'TASK_STATE_INPUT_REQUIRED',
      'TASK_STATE_COMPLETED',
    ]);
  });
});

describe('cards', () => {
  const cardOf = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${agent.url}${path}`, { headers });

  test('CARD-DISC-001, CARD-STRUCT-001: a card is there, with its fields', async () => {
    const card = (await (
      await cardOf('/.well-known/agent-card.json?assistant_id=chat')
    ).json()) as object;
    for (const field of [
      'name',
      'description',
      'version',
      'supportedInterfaces',
      'capabilities',
      'defaultInputModes',
      'skills',
    ])
      expect(card).toHaveProperty(field);
  });

  test('CARD-PROTO-001, CARD-PROTO-002, BIND-FIELD-001: it declares its bindings, each with its address and version', async () => {
    const { supportedInterfaces } = (await (await cardOf('/a2a/chat')).json()) as {
      supportedInterfaces: Record<string, string>[];
    };
    expect(supportedInterfaces.map(({ protocolVersion }) => protocolVersion)).toEqual([
      '1.0',
      '0.3',
    ]);
    for (const { url, protocolBinding } of supportedInterfaces) {
      expect(protocolBinding).toBe('JSONRPC');
      expect((await fetch(url!)).status).toBe(200);
    }
  });

  test('CARD-CACHE-001, CARD-CACHE-002: it may be kept for a while, and has a mark', async () => {
    const { headers } = await cardOf('/a2a/chat');
    expect(headers.get('cache-control')).toMatch(/max-age=\d+/);
    expect((await cardOf('/a2a/chat', { 'if-none-match': headers.get('etag')! })).status).toBe(304);
  });

  test('CARD-EXT-001, AUTH-SERVER-002: the card for those who are let in is given to them, and to nobody else', async () => {
    expect((await a2aCalls(guarded).post('chat', rpc('GetExtendedAgentCard'))).status).toBe(401);
    const inside = a2aCalls({ url: guarded.url, headers: { 'x-api-key': KEY } });
    expect(await inside.call('chat', 'GetExtendedAgentCard')).toMatchObject({
      name: 'chat',
      capabilities: { extendedAgentCard: true },
    });
  });

  test('CORE-CAP-003: a server that lets everybody in has none, and says so', async () => {
    expect(await calls.call('chat', 'GetExtendedAgentCard')).toMatchObject({ code: -32_004 });
  });

  test('CORE-CAP-001, CORE-CAP-002: what the card promises is not refused as absent', async () => {
    const card: unknown = await (await cardOf('/a2a/chat')).json();
    // A server without push notifications: push-off.test.ts.
    expect(card).toMatchObject({ capabilities: { streaming: true, pushNotifications: true } });
    const { id: taskId } = await done();
    expect(await calls.call('chat', 'ListTaskPushNotificationConfigs', { taskId })).toEqual({});
  });
});

describe('messages and errors', () => {
  const answered = async (
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; type: string; body: unknown }> => {
    const answer = await calls.post('chat', body, headers);
    return {
      status: answer.status,
      type: answer.headers.get('content-type') ?? '',
      body: await answer.json(),
    };
  };

  test('JSONRPC-FMT-001, JSONRPC-FMT-002, JSONRPC-SVC-001: answers are messages of JSON-RPC 2.0 in JSON, to methods in PascalCase', async () => {
    const { type, body } = await answered({
      ...rpc('SendMessage', textMessage('Hello')),
      id: 'mine',
    });
    expect([type, body]).toEqual([
      expect.stringMatching(/^application\/json/),
      { jsonrpc: '2.0', id: 'mine', result: expect.any(Object) as object },
    ]);
    expect((await answered(rpc('send_message', {}))).body).toMatchObject({
      error: { code: -32_601 },
    });
  });

  test('JSONRPC-SSE-001: events of a stream are such messages, too', async () => {
    const text = await (
      await calls.post('chat', { ...rpc('SendStreamingMessage', textMessage('Hello')), id: 7 })
    ).text();
    const lines = text.split('\n').filter((line) => line.startsWith('data:'));
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines)
      expect(JSON.parse(line.slice(5))).toMatchObject({ jsonrpc: '2.0', id: 7, result: {} });
  });

  test.each([
    ['TASK_NOT_FOUND', 'GetTask', (): object => ({ id: noTask() }), -32_001],
    [
      'CONTENT_TYPE_NOT_SUPPORTED',
      'SendMessage',
      (): object => ({ message: { ...fileMessage } }),
      -32_005,
    ],
  ])(
    'JSONRPC-ERR-001, JSONRPC-ERR-002, JSONRPC-ERR-003, JSONRPC-SSE-002: %s has its code, and details',
    async (reason, method, of, code) => {
      expect((await answered(rpc(method, of()))).body).toMatchObject({
        error: {
          code,
          message: /./,
          data: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: /./ }],
        },
      });
    },
  );

  test('JSONRPC-SSE-002: a body of another type is refused as such', async () => {
    const { status, body } = await answered(rpc('GetTask', { id: noTask() }), {
      'content-type': 'text/plain',
    });
    expect([status, body]).toMatchObject([415, { error: { code: -32_005 } }]);
  });

  test('CORE-ERR-001, CORE-ERR-002: parameters are checked before anything is done, and the error says which', async () => {
    const { body } = await answered(
      rpc('SendMessage', { message: { role: 'ROLE_USER', parts: [{ text: 'a' }] } }),
    );
    expect(body).toMatchObject({ error: { code: -32_602, message: /messageId/ } });
  });

  test('DM-SERIAL-001, DM-SERIAL-002, DM-SERIAL-003: names are in camelCase, states are words, times are of ISO 8601 with Z', async () => {
    const task = await asking();
    const names = (value: unknown): string[] =>
      typeof value !== 'object' || value === null
        ? []
        : Object.entries(value).flatMap(([name, part]) =>
            name === 'data' || name === 'metadata'
              ? [name]
              : [...(Array.isArray(value) ? [] : [name]), ...names(part)],
          );
    expect(names(task).filter((name) => !/^[a-z][A-Za-z0-9]*$/.test(name))).toEqual([]);
    expect(task.status.state).toMatch(/^TASK_STATE_[A-Z_]+$/);
    expect(task.status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  });

  test('DM-SERIAL-005: fields that nobody knows are passed over', async () => {
    const { body } = await answered({
      ...rpc('SendMessage', { ...textMessage('Hello', { unheardOf: 1 }), unheardOf: 1 }),
      unheardOf: 1,
    });
    expect(body).toMatchObject({ result: { task: {} } });
  });
});

const fileMessage = {
  messageId: 'm',
  role: 'ROLE_USER',
  parts: [{ url: 'https://example.com/file', mediaType: 'application/x-unknown' }],
};

describe('versions', () => {
  const older = rpc('message/send', {
    message: {
      kind: 'message',
      messageId: randomUUID(),
      role: 'user',
      parts: [{ kind: 'text', text: 'Hello' }],
    },
  });
  const sent = async (body: object, version: string): Promise<unknown> =>
    (await calls.post('chat', body, { 'a2a-version': version })).json();

  test('VER-SERVER-001, JSONRPC-SVC-002: the header says in which version a request is answered', async () => {
    expect(await sent(rpc('SendMessage', textMessage('Hello')), '1.0')).toMatchObject({
      result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
    });
    expect(await sent(older, '0.3')).toMatchObject({
      result: { kind: 'task', status: { state: 'completed' } },
    });
  });

  test('VER-SERVER-002: an unknown version is refused', async () => {
    expect(await sent(rpc('GetTask', { id: noTask() }), '9.9')).toMatchObject({
      error: { code: -32_009 },
    });
  });

  test('VER-SERVER-003: an empty one means 0.3', async () => {
    expect(await sent(older, '')).toMatchObject({ result: { kind: 'task' } });
  });
});
