import type { StreamMode } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* What streams of runs and of threads carry in each mode, as the official client reads them. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/wire/streams/graphs/gx.json' });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Event = { event: string; data: unknown };
const relay = (streamMode: StreamMode[], streamSubgraphs = false): Promise<Event[]> =>
  Array.fromAsync(
    agent.client.runs.stream(null, 'relay', { input: { messages: [{ role: 'human', content: 'go' }] }, streamMode, streamSubgraphs }),
  ) as Promise<Event[]>;

const texts = (events: Event[], name: string): unknown[] =>
  events.filter(({ event }) => event === name).map(({ data }) => (data as { content: unknown }[])[0]!.content);

describe('messages mode', () => {
  test('ends each streamed message with its whole content', async () => {
    const events = await relay(['messages']);
    expect(texts(events, 'messages/complete')).toEqual(['At first.', 'In the middle.', 'At last.']);
    const kinds = events.map(({ event }) => event).filter((event) => event !== 'messages/partial');
    const streamed = ['messages/metadata', 'messages/complete'];
    // LangGraph tells what a subgraph wrote when its node is over, unless subgraphs are streamed.
    expect(kinds).toEqual(['metadata', ...streamed, 'messages/complete', ...streamed]);
    const idsOf = (name: string): string[] =>
      events.filter(({ event }) => event === name).map(({ data }) => (data as { id: string }[])[0]!.id);
    const [first, , last] = idsOf('messages/complete');
    expect([...new Set(idsOf('messages/partial'))]).toEqual([first, last]);
  });

  test('names the subgraph of a message', async () => {
    const events = await relay(['messages'], true);
    const middle = events.filter(({ data }) => JSON.stringify(data).includes('In the middle.'));
    const kinds = new Set(middle.map(({ event }) => event.replace(/\|middle:[\da-f-]{36}$/, ' of middle')));
    expect(kinds).toEqual(new Set(['messages/partial of middle', 'messages/complete of middle']));
    expect(texts(events, 'messages/complete')).toEqual(['At first.', 'At last.']);
  });

  test.each<[string, StreamMode[]]>([
    ['values', ['messages', 'values']],
    ['updates and custom data', ['updates', 'messages', 'custom']],
    ['everything', ['values', 'messages', 'messages-tuple', 'tasks', 'checkpoints', 'updates', 'events', 'debug', 'custom']],
  ])('ends the last message behind all else of its step, beside %s', async (_, modes) => {
    const events = await relay(modes);
    expect(events.at(-1)).toMatchObject({ event: 'messages/complete', data: [{ type: 'ai', content: 'At last.' }] });
    expect(texts(events, 'messages/complete')).toEqual(['At first.', 'In the middle.', 'At last.']);
  });
});

test('events mode leaves out the chunks of the graph itself, which other modes tell', async () => {
  const events = await relay(['events']);
  const told = events.filter(({ event }) => event === 'events').map(({ data }) => data as { event: string; run_id: string; name: string });
  const root = told[0]!;
  expect(root).toMatchObject({ event: 'on_chain_start' });
  expect(told.filter(({ event, run_id }) => event === 'on_chain_stream' && run_id === root.run_id)).toEqual([]);
  expect(told.at(-1)).toMatchObject({ event: 'on_chain_end', run_id: root.run_id });
  expect(new Set(told.map(({ event }) => event))).toContain('on_chat_model_stream');
});

test('a stream of a thread tells the end of each run, as threads.joinStream reads it', async () => {
  const { threads, runs } = agent.client;
  const { thread_id } = await threads.create();
  const leave = new AbortController();
  const stream = threads.joinStream(thread_id, { lastEventId: '-', signal: leave.signal });
  const first = await runs.create(thread_id, 'steps', { input: { left: 1 }, streamResumable: true });
  const second = await runs.create(thread_id, 'steps', { input: { left: 1 }, streamResumable: true });
  const ended: unknown[] = [];
  for await (const { event, data } of stream as AsyncGenerator<Event>) {
    if (event === 'metadata' && (data as { status?: string }).status === 'run_done') ended.push((data as { run_id: string }).run_id);
    if (ended.length === 2) break;
  }
  leave.abort();
  expect(ended).toEqual([first.run_id, second.run_id]);
});
