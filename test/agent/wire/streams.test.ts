import type { StreamMode } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* What streams of runs and threads carry in each mode, as the official client reads them. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/streams/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Event = { event: string; data: unknown };
const relay = (streamMode: StreamMode[], streamSubgraphs = false): Promise<Event[]> =>
  Array.fromAsync(
    agent.client.runs.stream(null, 'relay', {
      input: { messages: [{ role: 'human', content: 'go' }] },
      streamMode,
      streamSubgraphs,
    }),
  ) as Promise<Event[]>;

const texts = (events: Event[], name: string): unknown[] =>
  events
    .filter(({ event }) => event === name)
    .map(({ data }) => (data as { content: unknown }[])[0]!.content);

describe('messages mode', () => {
  test('ends each streamed message with its whole content', async () => {
    const events = await relay(['messages']);
    expect(texts(events, 'messages/complete')).toEqual(['At first.', 'In the middle.', 'At last.']);
    const kinds = events.map(({ event }) => event).filter((event) => event !== 'messages/partial');
    const streamed = ['messages/metadata', 'messages/complete'];
    // LangGraph reports what a subgraph wrote when its node is over, unless subgraphs are streamed.
    expect(kinds).toEqual(['metadata', ...streamed, 'messages/complete', ...streamed]);
    const idsOf = (name: string): string[] =>
      events
        .filter(({ event }) => event === name)
        .map(({ data }) => (data as { id: string }[])[0]!.id);
    const [first, , last] = idsOf('messages/complete');
    expect([...new Set(idsOf('messages/partial'))]).toEqual([first, last]);
  });

  test('names the subgraph of a message', async () => {
    const events = await relay(['messages'], true);
    const middle = events.filter(({ data }) => JSON.stringify(data).includes('In the middle.'));
    const kinds = new Set(
      middle.map(({ event }) => event.replace(/\|middle:[\da-f-]{36}$/, ' of middle')),
    );
    expect(kinds).toEqual(new Set(['messages/partial of middle', 'messages/complete of middle']));
    expect(texts(events, 'messages/complete')).toEqual(['At first.', 'At last.']);
  });

  test.each<[string, StreamMode[]]>([
    ['values', ['messages', 'values']],
    ['updates and custom data', ['updates', 'messages', 'custom']],
    [
      'everything',
      [
        'values',
        'messages',
        'messages-tuple',
        'tasks',
        'checkpoints',
        'updates',
        'events',
        'debug',
        'custom',
      ],
    ],
  ])('ends the last message behind all else of its step, beside %s', async (_, modes) => {
    const events = await relay(modes);
    expect(events.at(-1)).toMatchObject({
      event: 'messages/complete',
      data: [{ type: 'ai', content: 'At last.' }],
    });
    expect(texts(events, 'messages/complete')).toEqual(['At first.', 'In the middle.', 'At last.']);
  });
});

test('events mode leaves out the chunks of the graph itself, which other modes tell', async () => {
  const events = await relay(['events']);
  const told = events
    .filter(({ event }) => event === 'events')
    .map(({ data }) => data as { event: string; run_id: string; name: string });
  const root = told[0]!;
  expect(root).toMatchObject({ event: 'on_chain_start' });
  expect(
    told.filter(({ event, run_id }) => event === 'on_chain_stream' && run_id === root.run_id),
  ).toEqual([]);
  expect(told.at(-1)).toMatchObject({ event: 'on_chain_end', run_id: root.run_id });
  expect(new Set(told.map(({ event }) => event))).toContain('on_chat_model_stream');
});

test('a stream of a thread tells the end of each run, as threads.joinStream reads it', async () => {
  const { threads, runs } = agent.client;
  const { thread_id } = await threads.create();
  const leave = new AbortController();
  const stream = threads.joinStream(thread_id, { lastEventId: '-', signal: leave.signal });
  const first = await runs.create(thread_id, 'steps', {
    input: { left: 1 },
    streamResumable: true,
  });
  const second = await runs.create(thread_id, 'steps', {
    input: { left: 1 },
    streamResumable: true,
  });
  const ended: unknown[] = [];
  for await (const { event, data } of stream as AsyncGenerator<Event>) {
    if (event === 'metadata' && (data as { status?: string }).status === 'run_done')
      ended.push((data as { run_id: string }).run_id);
    if (ended.length === 2) break;
  }
  leave.abort();
  expect(ended).toEqual([first.run_id, second.run_id]);
});

test.each([
  [false, ['messages', 'messages', 'messages']],
  [true, ['messages', 'messages|middle', 'messages']],
])(
  'messages-tuple mode names the subgraph of a message if subgraphs are streamed: %s',
  async (subgraphs, names) => {
    const events = await relay(['messages-tuple'], subgraphs);
    const whole = new Map<string, { name: string; text: string }>();
    for (const { event, data } of events.filter(({ event: name }) => name.startsWith('messages'))) {
      const [{ id, content }] = data as [{ id: string; content: string }];
      whole.set(id, {
        name: event.replace(/:[\da-f-]{36}$/, ''),
        text: (whole.get(id)?.text ?? '') + content,
      });
    }
    const told = ['At first.', 'In the middle.', 'At last.'].map((text, at) => ({
      name: names[at],
      text,
    }));
    expect([...whole.values()]).toEqual(told);
  },
);

describe('an interrupt', () => {
  const approval = async (streamMode: StreamMode): Promise<Event[]> => {
    const { thread_id } = await agent.client.threads.create();
    return Array.fromAsync(
      agent.client.runs.stream(thread_id, 'approval', { input: { request: 'go' }, streamMode }),
    );
  };
  const asked = [{ id: expect.any(String) as string, value: { question: 'May I go?' } }];

  test.each<[StreamMode, string, object]>([
    ['values', 'values', { request: 'go', __interrupt__: asked }],
    ['updates', 'updates', { __interrupt__: asked }],
    ['tasks', 'tasks', { interrupts: asked, error: null }],
  ])('is told in mode %s', async (mode, name, data) => {
    expect((await approval(mode)).at(-1)).toMatchObject({ event: name, data });
  });

  test.each<StreamMode>(['custom', 'messages', 'messages-tuple'])(
    'is not told in mode %s',
    async (mode) => {
      expect((await approval(mode)).map(({ event }) => event)).toEqual(['metadata']);
    },
  );

  test('that a run was told to make has nothing to say: the state is as it is', async () => {
    const options = { input: { left: 2 }, interruptAfter: ['step'], onCompletion: 'keep' as const };
    expect(await agent.client.runs.wait(null, 'steps', options)).toEqual({ left: 1, done: 1 });
    const values = await Array.fromAsync(
      agent.client.runs.stream(null, 'steps', { ...options, streamMode: 'values' }),
    );
    expect(values.at(-1)).toMatchObject({ event: 'values', data: { left: 1, done: 1 } });
    const updates = await Array.fromAsync(
      agent.client.runs.stream(null, 'steps', { ...options, streamMode: 'updates' }),
    );
    expect(updates.at(-1)).toMatchObject({ event: 'updates', data: { __interrupt__: [] } });
  });
});

test.each([
  ['exit', 1],
  ['async', 4],
  ['sync', 4],
] as const)(
  'with durability %s a run of two steps leaves %d checkpoints',
  async (durability, count) => {
    const { runs, threads } = agent.client;
    const { thread_id } = await threads.create();
    expect(await runs.wait(thread_id, 'steps', { input: { left: 2 }, durability })).toMatchObject({
      done: 2,
    });
    expect(await threads.getHistory(thread_id, { limit: 10 })).toHaveLength(count);
    expect(await threads.getState(thread_id)).toMatchObject({
      values: { done: 2, left: 0 },
      next: [],
    });
  },
);

test.each([
  ['cancel', 'interrupted'],
  ['continue', 'success'],
  [undefined, 'success'],
] as const)(
  'a client that leaves a wait with on_disconnect %s leaves a run that ends as %s',
  async (onDisconnect, status) => {
    const { runs, threads } = agent.client;
    const { thread_id } = await threads.create();
    const leave = new AbortController();
    const waiting = runs.wait(thread_id, 'steps', {
      input: { left: 3, pause: 300 },
      ...(onDisconnect && { onDisconnect }),
      signal: leave.signal,
    });
    waiting.catch(() => undefined);
    await expect.poll(async () => (await runs.list(thread_id)).length).toBe(1);
    leave.abort();
    const [run] = await runs.list(thread_id);
    await expect.poll(async () => (await runs.get(thread_id, run!.run_id)).status).toBe(status);
    await expect(waiting).rejects.toThrow(/abort/i);
  },
);
