import type { StreamMode } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';

/* Streams of Python graphs, by mode, and graphs that functions make. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startPython(database.uri);
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

type Event = { event: string; data: unknown };
type Options = { streamMode: StreamMode[]; streamSubgraphs?: boolean };

/** Returns the events of a run behind its first one, which is its metadata. */
async function eventsOf(graph: string, input: unknown, options: Options): Promise<Event[]> {
  const { thread_id } = await agent.client.threads.create();
  const stream = agent.client.runs.stream(thread_id, graph, {
    input: input as Record<string, unknown>,
    ...options,
  }) as AsyncIterable<Event>;
  return (await Array.fromAsync(stream)).slice(1).map(({ event, data }) => ({ event, data }));
}

const wait = (graph: string, options: object): Promise<unknown> =>
  agent.client.runs.wait(null, graph, options);

describe('messages', () => {
  const input = { messages: [{ role: 'user', content: 'Hi there' }] };
  const TOKENS = ['You', ' ', 'wrote', ' ', 'Hi', ' ', 'there'];

  test('come token by token, as tuples', async () => {
    const events = await eventsOf('chat', input, { streamMode: ['messages-tuple'] });
    const parts = events.map(
      ({ data }) =>
        data as [{ content: string; type: string; id: string }, { langgraph_node: string }],
    );
    expect(events.every(({ event }) => event === 'messages')).toBe(true);
    expect(parts.map(([{ content }]) => content).join('')).toBe(TOKENS.join(''));
    expect(parts.length).toBeGreaterThanOrEqual(TOKENS.length);
    expect(parts[0]).toMatchObject([
      { type: 'AIMessageChunk', id: 'answer-1' },
      { langgraph_node: 'talk' },
    ]);
  });

  test('come whole so far at each token, and once more at their end', async () => {
    const events = await eventsOf('chat', input, { streamMode: ['messages'] });
    expect(events[0]).toMatchObject({
      event: 'messages/metadata',
      data: { 'answer-1': { metadata: { langgraph_node: 'talk' } } },
    });
    const partial = events
      .filter(({ event }) => event === 'messages/partial')
      .map(({ data }) => (data as { content: string }[])[0]!.content);
    expect(partial.slice(0, 3)).toEqual(['You', 'You ', 'You wrote']);
    expect(events.at(-1)).toMatchObject({
      event: 'messages/complete',
      data: [{ type: 'ai', content: 'You wrote Hi there' }],
    });
  });

  test('stay in the state of the thread', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'chat', { input });
    await agent.client.runs.wait(thread_id, 'chat', {
      input: { messages: [{ type: 'human', content: 'again' }] },
    });
    const { values } = await agent.client.threads.getState<{
      messages: { type: string; content: string }[];
    }>(thread_id);
    expect(values.messages.map(({ type, content }) => [type, content])).toEqual([
      ['human', 'Hi there'],
      ['ai', 'You wrote Hi there'],
      ['human', 'again'],
      ['ai', 'You wrote again'],
    ]);
  });
});

describe('a mode', () => {
  test('"tasks" tells of the beginning and the end of each node', async () => {
    const events = await eventsOf('echo', { question: 'q' }, { streamMode: ['tasks'] });
    expect(events).toMatchObject([
      { event: 'tasks', data: { name: 'answer', input: { question: 'q' } } },
      { event: 'tasks', data: { name: 'answer', error: null, result: { answer: 'echo: q' } } },
    ]);
  });

  test('"checkpoints" tells of each checkpoint, without what LangGraph keeps in its configuration', async () => {
    const events = await eventsOf('echo', { question: 'q' }, { streamMode: ['checkpoints'] });
    const last = events.at(-1)!.data as {
      values: unknown;
      config: { configurable: object };
      next: unknown;
    };
    expect(last).toMatchObject({
      values: { answer: 'echo: q' },
      next: [],
      metadata: { source: 'loop' },
    });
    expect(Object.keys(last.config.configurable).filter((name) => name.startsWith('__'))).toEqual(
      [],
    );
  });

  test('"debug" tells of both, and names the checkpoints', async () => {
    const events = await eventsOf('echo', { question: 'q' }, { streamMode: ['debug'] });
    expect(events.map(({ data }) => (data as { type: string }).type)).toEqual([
      'checkpoint',
      'checkpoint',
      'task',
      'task_result',
      'checkpoint',
    ]);
    const { payload } = events.at(-1)!.data as {
      payload: { checkpoint: object; parent_checkpoint: object };
    };
    expect([payload.checkpoint, payload.parent_checkpoint]).toMatchObject([
      { checkpoint_ns: '' },
      { checkpoint_ns: '' },
    ]);
  });

  test('"events" tells of each call, beside the other modes', async () => {
    const events = await eventsOf('echo', { question: 'q' }, { streamMode: ['events', 'values'] });
    const names = events
      .filter(({ event }) => event === 'events')
      .map(({ data }) => (data as { event: string }).event);
    expect([names[0], names.at(-1)]).toEqual(['on_chain_start', 'on_chain_end']);
    expect(events.filter(({ event }) => event === 'values')).toHaveLength(2);
  });

  test('"custom" has a form for integers and texts that JSON does not have', async () => {
    const events = await eventsOf('odd', {}, { streamMode: ['custom'] });
    const keys = { "(1, 'a')": 'tuple', 'frozenset({2})': 'set', good: 'enum' };
    expect(events).toEqual([
      { event: 'custom', data: { large: String(2n ** 70n), half: 'a?b', keys } },
    ]);
  });

  test('tells of subgraphs where they are asked for', async () => {
    const events = await eventsOf(
      'outer',
      { draft: 'd' },
      { streamMode: ['values', 'updates'], streamSubgraphs: true },
    );
    const names = events.map(({ event }) => event.replace(/:[\w-]+/, ''));
    expect(names).toEqual([
      'values',
      'values|inner',
      'updates|inner',
      'values|inner',
      'updates',
      'values',
    ]);
  });
});

describe('a graph', () => {
  test('of the functional API takes and returns any value', async () => {
    const events = await eventsOf('essay', 'bees', { streamMode: ['values'] });
    expect(events).toEqual([{ event: 'values', data: 'An essay about bees' }]);
  });

  test('is made by a function of the configuration', async () => {
    expect(
      await wait('made', { input: {}, config: { configurable: { flavour: 'lemon' } } }),
    ).toEqual({ made: 'lemon' });
  });

  test('is opened for each call, and closed behind it', async () => {
    expect(await wait('opened', { input: {} })).toEqual({ made: ['opened'] });
    expect(await wait('opened', { input: {} })).toEqual({ made: ['opened', 'closed', 'opened'] });
  });

  test('is made by a function of the runtime, which says why', async () => {
    const values = await wait('runtime', { input: {}, context: { flavour: 'mint' } });
    expect(values).toEqual({
      made: { access: 'threads.create_run', context: { flavour: 'mint' } },
    });
  });

  test('gets its context as its class, without the fields that the class lacks', async () => {
    const values = await wait('contextual', { input: {}, context: { flavour: 'mint', other: 1 } });
    expect(values).toEqual({ made: { flavour: 'mint', user: null } });
  });

  test('uses the store, in which clients find the same', async () => {
    const values = await wait('remembers', { input: { given: 'kept' } });
    const kept = { kept: 'kept' };
    expect(values).toMatchObject({
      made: { found: [kept], item: kept, names: [['python', 'tests']] },
    });
    expect((await agent.client.store.getItem(['python', 'tests'], 'k'))!.value).toEqual(kept);
  });

  test('that calls sys.exit fails, and others run', async () => {
    const events = await eventsOf('quits', {}, { streamMode: ['values'] });
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: 'SystemExit' } });
    expect(await wait('echo', { input: { question: 'x' } })).toMatchObject({ answer: 'echo: x' });
  });
});
