import { randomUUID } from 'node:crypto';
import {
  Role,
  TaskState,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
} from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  type Client,
} from '@a2a-js/sdk/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* The official client, in both versions, against a server under a prefix that encrypts what it keeps. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  const env = {
    LANGGRAPH_HTTP: JSON.stringify({ mount_prefix: '/agents' }),
    GX_AES_KEY: 'k'.repeat(32),
  };
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/a2a/graphs/gx.json',
    env,
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

/** The versions that clients named, request by request. */
const spoken: string[] = [];

/** Returns the client that finds an agent by its card, which a server under a prefix has there, too. */
function clientOf(assistant: string, version: '1.0' | '0.3'): Promise<Client> {
  const legacyCompat = { enabled: version === '0.3' };
  // A client of version 0.3 knows nothing of the interfaces of 1.0.
  const cardResolver = new DefaultAgentCardResolver({
    legacyCompat,
    fetchImpl: async (input, init) => {
      const response = await fetch(input, init);
      if (version === '1.0') return response;
      const { supportedInterfaces: _newer, ...card } = (await response.json()) as Record<
        string,
        unknown
      >;
      return Response.json(card);
    },
  });
  const fetchImpl: typeof fetch = (input, init) => {
    spoken.push(new Headers(init?.headers).get('a2a-version') ?? 'none');
    return fetch(input, init);
  };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ legacyCompat, fetchImpl })],
    cardResolver,
  });
  return factory.createFromUrl(`${agent.url}/agents/a2a/${assistant}`, '');
}

const part = (content: NonNullable<Part['content']>): Part => ({
  content,
  metadata: undefined,
  filename: '',
  mediaType: '',
});
const text = (value: string): Part => part({ $case: 'text', value });
const data = (value: unknown): Part => part({ $case: 'data', value });

const message = (
  content: Part,
  more: Partial<Message> = {},
): { message: Message; tenant: string; configuration: undefined; metadata: undefined } => ({
  message: {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts: [content],
    contextId: '',
    taskId: '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more,
  },
  tenant: '',
  configuration: undefined,
  metadata: undefined,
});

const WAITING = {
  acceptedOutputModes: [],
  taskPushNotificationConfig: undefined,
  returnImmediately: false,
};
const send = async (client: Client, content: Part, more?: Partial<Message>): Promise<Task> =>
  (await client.sendMessage({ ...message(content, more), configuration: WAITING })) as Task;

const partsOf = (task: Task): unknown[] =>
  task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content?.value as unknown));

/** Returns the kinds of what a stream brought, with the states of tasks. */
const kindsOf = (events: StreamResponse[]): string[] =>
  events.map(({ payload }) => {
    if (payload?.$case === 'task' || payload?.$case === 'statusUpdate')
      return `${payload.$case} ${TaskState[payload.value.status!.state].slice(11)}`;
    return payload!.$case;
  });

async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe.each(['1.0', '0.3'] as const)('the client of version %s', (version) => {
  test('sends a message, gets the result, and asks for it again', async () => {
    const client = await clientOf('chat', version);
    const task = await send(client, text('Hello'));
    expect([task.status?.state, partsOf(task)]).toEqual([
      TaskState.TASK_STATE_COMPLETED,
      ['I hear you well.'],
    ]);
    expect(partsOf(await client.getTask({ id: task.id, tenant: '' }))).toEqual([
      'I hear you well.',
    ]);
    expect(spoken.slice(-2)).toEqual([version, version]);
  });

  test('is asked, and goes on with the same task', async () => {
    const client = await clientOf('approval', version);
    const asked = await send(client, data({ request: 'go' }));
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = await send(client, text('yes'), { taskId: asked.id, contextId: asked.contextId });
    expect([done.id, partsOf(done)]).toEqual([asked.id, [{ request: 'go', answer: 'yes' }]]);
  });

  test('hears what happens to a task, up to its end', async () => {
    const client = await clientOf('steps', version);
    const events = await all(client.sendMessageStream(message(data({ left: 2 }))));
    expect(kindsOf(events)).toEqual([
      'task SUBMITTED',
      'statusUpdate WORKING',
      'statusUpdate WORKING',
      'statusUpdate WORKING',
      'artifactUpdate',
      'statusUpdate COMPLETED',
    ]);
  });

  test('hears a question, and that a task failed', async () => {
    const asked = await all(
      (await clientOf('approval', version)).sendMessageStream(message(data({ request: 'go' }))),
    );
    expect(kindsOf(asked).at(-1)).toBe('statusUpdate INPUT_REQUIRED');
    const failed = await all(
      (await clientOf('broken', version)).sendMessageStream(message(data({ how: 'error' }))),
    );
    expect(kindsOf(failed).at(-1)).toBe('statusUpdate FAILED');
  });

  test('joins a task under way, and hears that it was cancelled', async () => {
    const client = await clientOf('broken', version);
    const began = client.sendMessageStream(message(data({ how: 'never' })));
    const { payload } = (await began.next()).value as StreamResponse;
    const { id } = payload!.value as Task;
    await began.return(undefined);
    await until(
      'it works',
      async () =>
        (await client.getTask({ id, tenant: '' })).status?.state === TaskState.TASK_STATE_WORKING,
    );
    const joined = client.resubscribeTask({ id, tenant: '' });
    const first = (await joined.next()).value as StreamResponse;
    expect(kindsOf([first])).toEqual(['task WORKING']);
    await client.cancelTask({ id, tenant: '', metadata: undefined });
    expect(kindsOf(await all(joined)).at(-1)).toBe('statusUpdate CANCELED');
  });
});
