import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* The official JavaScript client against a server process, as a user has it. */

const human = (content: string) => ({ messages: [{ role: 'human', content }] });
const contents = (state: unknown): unknown[] =>
  (state as { messages: { content: unknown }[] }).messages.map(({ content }) => content);

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

describe('assistants', () => {
  test('there is one for each graph, under its uuid5', async () => {
    const assistants = await agent.client.assistants.search({ limit: 10 });
    expect(assistants.map(({ graph_id }) => graph_id).toSorted()).toEqual([
      'approval',
      'broken',
      'chat',
      'steps',
    ]);
    const chat = await agent.client.assistants.get(
      assistants.find(({ graph_id }) => graph_id === 'chat')?.assistant_id ?? '',
    );
    expect(chat).toMatchObject({ name: 'chat', version: 1, metadata: { created_by: 'system' } });
  });
});

describe('runs', () => {
  test('wait answers the final state, and the thread keeps it', async () => {
    const thread = await agent.client.threads.create();
    expect(thread.status).toBe('idle');
    const state = await agent.client.runs.wait(thread.thread_id, 'chat', { input: human('hello') });
    expect(contents(state)).toEqual(['hello', 'I hear you well.']);
    const stored = await agent.client.threads.getState(thread.thread_id);
    expect(contents(stored.values)).toEqual(['hello', 'I hear you well.']);
    expect(await agent.client.threads.get(thread.thread_id)).toMatchObject({
      status: 'idle',
      metadata: { graph_id: 'chat' },
    });
  });

  test('stream in values mode begins with metadata and ends with the whole state', async () => {
    const thread = await agent.client.threads.create();
    const events = await Array.fromAsync(
      agent.client.runs.stream(thread.thread_id, 'chat', {
        input: human('stream'),
        streamMode: 'values',
      }),
    );
    expect(events[0]).toMatchObject({ event: 'metadata', data: { attempt: 1 } });
    expect(new Set(events.slice(1).map(({ event }) => event))).toEqual(new Set(['values']));
    expect(contents(events.at(-1)?.data)).toEqual(['stream', 'I hear you well.']);
  });

  test('stream in messages-tuple mode gives the tokens one by one', async () => {
    const thread = await agent.client.threads.create();
    const events = await Array.fromAsync(
      agent.client.runs.stream(thread.thread_id, 'chat', {
        input: human('tokens'),
        streamMode: 'messages-tuple',
      }),
    );
    const tuples = events
      .filter(({ event }) => event === 'messages')
      .map(({ data }) => data as unknown as [{ content: string }, Record<string, unknown>]);
    expect(tuples.length).toBeGreaterThan(3);
    expect(tuples.map(([chunk]) => chunk.content).join('')).toContain('I hear you well.');
    expect(tuples[0]?.[1]).toMatchObject({ langgraph_node: 'answer' });
  });

  test('a background run is joined, then read', async () => {
    const thread = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread.thread_id, 'chat', { input: human('later') });
    expect(run).toMatchObject({ thread_id: thread.thread_id, multitask_strategy: 'enqueue' });
    const state = await agent.client.runs.join(thread.thread_id, run.run_id);
    expect(contents(state)).toEqual(['later', 'I hear you well.']);
    expect(await agent.client.runs.get(thread.thread_id, run.run_id)).toMatchObject({
      status: 'success',
    });
  });

  test('a second run on a busy thread waits by default and continues on its state', async () => {
    const thread = await agent.client.threads.create();
    await agent.client.runs.create(thread.thread_id, 'steps', { input: { left: 2, pause: 100 } });
    const second = await agent.client.runs.create(thread.thread_id, 'steps', {
      input: { left: 1, pause: 0 },
    });
    const state = await agent.client.runs.join(thread.thread_id, second.run_id);
    expect(state).toMatchObject({ done: 3 });
  });

  test('rollback deletes the first run and what it did', async () => {
    const thread = await agent.client.threads.create();
    const first = await agent.client.runs.create(thread.thread_id, 'steps', {
      input: { left: 50, pause: 1000 },
    });
    const second = await agent.client.runs.create(thread.thread_id, 'steps', {
      input: { left: 1, pause: 0 },
      multitaskStrategy: 'rollback',
    });
    const state = await agent.client.runs.join(thread.thread_id, second.run_id);
    expect(state).toMatchObject({ done: 1 });
    await expect(agent.client.runs.get(thread.thread_id, first.run_id)).rejects.toMatchObject({
      status: 404,
    });
  });

  test('interrupt stops the first run, keeps it, and starts the second', async () => {
    const thread = await agent.client.threads.create();
    const first = await agent.client.runs.create(thread.thread_id, 'steps', {
      input: { left: 50, pause: 1000 },
    });
    const second = await agent.client.runs.create(thread.thread_id, 'steps', {
      input: { left: 1, pause: 0 },
      multitaskStrategy: 'interrupt',
    });
    await agent.client.runs.join(thread.thread_id, second.run_id);
    expect(await agent.client.runs.get(thread.thread_id, first.run_id)).toMatchObject({
      status: 'interrupted',
    });
    expect(await agent.client.runs.get(thread.thread_id, second.run_id)).toMatchObject({
      status: 'success',
    });
  });

  test('a graph that asks a person goes on with the answer', async () => {
    const thread = await agent.client.threads.create();
    const asked = await agent.client.runs.wait(thread.thread_id, 'approval', {
      input: { request: 'go' },
    });
    expect(asked).toMatchObject({ __interrupt__: [{ value: { question: 'May I go?' } }] });
    expect(await agent.client.threads.get(thread.thread_id)).toMatchObject({
      status: 'interrupted',
    });
    const state = await agent.client.runs.wait(thread.thread_id, 'approval', {
      command: { resume: 'yes' },
    });
    expect(state).toMatchObject({ request: 'go', answer: 'yes' });
  });

  test('a graph that throws ends the run with its error', async () => {
    const thread = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread.thread_id, 'broken', {
      input: { how: 'error' },
    });
    const body = await fetch(
      `${agent.url}/threads/${thread.thread_id}/runs/${run.run_id}/join`,
    ).then((response) => response.json());
    expect(body).toEqual({ __error__: { error: 'TypeError', message: 'Boo!' } });
    expect(await agent.client.runs.get(thread.thread_id, run.run_id)).toMatchObject({
      status: 'error',
    });
    expect(await agent.client.threads.get(thread.thread_id)).toMatchObject({ status: 'error' });
  });

  test('a graph that throws what is no error takes nothing down', async () => {
    const events = await Array.fromAsync(
      agent.client.runs.stream(null, 'broken', { input: { how: 'text' } }),
    );
    expect(events.at(-1)).toMatchObject({
      event: 'error',
      data: { message: expect.stringContaining('not an error') },
    });
    expect((await fetch(`${agent.url}/ok`)).status).toBe(200);
  });

  test('a resumable stream is joined from the start, without gap or duplicate', async () => {
    const thread = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread.thread_id, 'steps', {
      input: { left: 4, pause: 50 },
      streamMode: ['custom'],
      streamResumable: true,
    });
    const live = agent.client.runs.joinStream(thread.thread_id, run.run_id, { lastEventId: '-1' });
    const lefts = (events: { event: string; data: unknown }[]) =>
      events
        .filter(({ event }) => event === 'custom')
        .map(({ data }) => (data as { left: number }).left);
    const seen = await Array.fromAsync(live);
    expect(lefts(seen)).toEqual([4, 3, 2, 1]);
    expect(seen.every(({ id }) => /^\d+-\d+$/.test(id ?? ''))).toBe(true);
    const cursor = seen.find(({ data }) => (data as { left?: number }).left === 3)?.id ?? '';
    const rest = await Array.fromAsync(
      agent.client.runs.joinStream(thread.thread_id, run.run_id, { lastEventId: cursor }),
    );
    expect(lefts(rest)).toEqual([2, 1]);
  });
});
