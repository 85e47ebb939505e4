import type { Checkpoint } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* State and history of threads, as the official client asks for them. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/contract/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

describe('history by metadata', () => {
  /** A thread with a run from each of two releases. The assistant of the first has metadata of its own. */
  async function threadOfTwo(): Promise<{ thread: string; runs: string[] }> {
    const { assistants, threads, runs } = agent.client;
    const assistant = await assistants.create({ graphId: 'nested', metadata: { team: 'blue' } });
    const { thread_id } = await threads.create();
    const run = async (id: string, release: string): Promise<string> => {
      const { run_id } = await runs.create(thread_id, id, {
        input: {},
        metadata: { release, by: { name: 'Ann' } },
      });
      await runs.join(thread_id, run_id);
      return run_id;
    };
    return {
      thread: thread_id,
      runs: [await run(assistant.assistant_id, 'one'), await run('nested', 'two')],
    };
  }

  test('finds the checkpoints of the runs that carried it, on a copy of the thread, too', async () => {
    const { threads } = agent.client;
    const { thread, runs } = await threadOfTwo();
    const copy = await threads.copy(thread);
    const runsFound = async (
      threadId: string,
      metadata: Record<string, unknown>,
    ): Promise<unknown[]> => {
      const states = await threads.getHistory(threadId, { limit: 100, metadata });
      return [...new Set(states.map((state) => state.metadata?.['run_id' as never]))];
    };
    for (const id of [thread, (copy as unknown as { thread_id: string }).thread_id]) {
      expect(await runsFound(id, { release: 'one' })).toEqual([runs[0]]);
      expect(await runsFound(id, { release: 'two', by: { name: 'Ann' } })).toEqual([runs[1]]);
      expect(await runsFound(id, { team: 'blue' })).toEqual([runs[0]]);
      expect(await runsFound(id, { graph_id: 'nested' })).toEqual(runs.toReversed());
      expect(await runsFound(id, { source: 'loop' })).toEqual(runs.toReversed());
      expect(await runsFound(id, { release: 'three' })).toEqual([]);
    }
  });

  test('takes nothing of what LangGraph says of a checkpoint', async () => {
    const { threads, runs } = agent.client;
    const { thread_id } = await threads.create();
    const run = await runs.create(thread_id, 'nested', {
      input: {},
      metadata: { source: 'update', step: 99, run_id: 'mine' },
    });
    await runs.join(thread_id, run.run_id);
    expect((await threads.getState(thread_id)).metadata).toMatchObject({
      source: 'loop',
      step: 2,
      run_id: run.run_id,
    });
  });
});

describe('a graph that is made for each call', () => {
  test('is for state and history the one of the last run', async () => {
    const { threads, runs } = agent.client;
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, 'made', { input: {}, config: { configurable: { size: 'medium' } } });
    await runs.wait(thread_id, 'made', {
      input: {},
      context: { size: 'large' },
      interruptBefore: ['large'],
    });
    expect(await threads.getState(thread_id)).toMatchObject({
      next: ['large'],
      values: { size: 'medium' },
    });
    expect((await threads.getHistory(thread_id, { limit: 1 }))[0]).toMatchObject({
      next: ['large'],
    });
    await threads.updateState(thread_id, { values: { size: 'by hand' }, asNode: 'large' });
    expect(await threads.getState(thread_id)).toMatchObject({
      next: [],
      values: { size: 'by hand' },
    });
    expect(await threads.get(thread_id)).toMatchObject({
      status: 'idle',
      values: { size: 'by hand' },
    });
    await expect(
      threads.updateState(thread_id, { values: {}, asNode: 'medium' }),
    ).rejects.toMatchObject({ status: 400 });
  });

  test('is before its first run the one of its assistant', async () => {
    const { assistants, threads } = agent.client;
    const { assistant_id } = await assistants.create({
      graphId: 'made',
      config: { configurable: { size: 'huge' } },
    });
    const { thread_id } = await threads.create({ metadata: { assistant_id }, graphId: 'made' });
    await threads.updateState(thread_id, { values: { size: 'written' }, asNode: 'huge' });
    expect(await threads.getState(thread_id)).toMatchObject({ values: { size: 'written' } });
    const supersteps = [{ updates: [{ values: { size: 'told' }, asNode: 'huge' }] }];
    const made = await threads.create({ metadata: { assistant_id }, graphId: 'made', supersteps });
    expect(await threads.getState(made.thread_id)).toMatchObject({ values: { size: 'told' } });
  });
});

test('a task that runs a subgraph names its checkpoint, without an id where it has none yet', async () => {
  const { threads, runs } = agent.client;
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, 'nested', { input: {}, interruptBefore: ['sub'] });
  const [task] = (await threads.getState(thread_id)).tasks;
  expect(task).toMatchObject({
    name: 'sub',
    checkpoint: { thread_id, checkpoint_ns: `sub:${task!.id}` },
  });
  expect(task!.checkpoint).not.toHaveProperty('checkpoint_id');
});

describe('the subgraph of a task that waits', () => {
  const edit = { city: 'Berlin' };

  async function waiting(): Promise<{ thread_id: string; checkpoint: Checkpoint }> {
    const { threads, runs } = agent.client;
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, 'weather', { input: { question: 'How is it?' } });
    const [region] = (await threads.getState(thread_id)).tasks;
    const [weather] = (await threads.getState(thread_id, region!.checkpoint as Checkpoint)).tasks;
    return { thread_id, checkpoint: weather!.checkpoint as Checkpoint };
  }

  test('is edited by the checkpoint of the task, shows the edit, and goes on with it', async () => {
    const { threads, runs } = agent.client;
    const { thread_id, checkpoint } = await waiting();
    expect(checkpoint).not.toHaveProperty('checkpoint_id');
    const written = await threads.updateState(thread_id, { values: edit, checkpoint });
    expect(written).toMatchObject({
      checkpoint: { thread_id, checkpoint_ns: checkpoint.checkpoint_ns },
    });
    const after = await threads.getState(thread_id, checkpoint);
    expect(after).toMatchObject({
      values: { question: 'How is it?', ...edit },
      next: ['weather_node'],
    });
    const history = await threads.getHistory(thread_id, { checkpoint, limit: 10 });
    expect(history.map(({ values }) => (values as { city?: string }).city)).toEqual([
      'Berlin',
      'San Francisco',
      undefined,
      undefined,
    ]);
    expect(await threads.get(thread_id)).toMatchObject({
      status: 'interrupted',
      values: { question: 'How is it?' },
    });
    expect(await runs.wait(thread_id, 'weather', { input: null })).toMatchObject({
      answer: 'It is sunny in Berlin.',
    });
  });

  test('takes what one of its nodes would write, and goes on behind that node', async () => {
    const { threads, runs } = agent.client;
    const { thread_id, checkpoint } = await waiting();
    await threads.updateState(thread_id, { values: edit, asNode: 'model_node', checkpoint });
    expect(await threads.getState(thread_id, checkpoint)).toMatchObject({
      values: edit,
      next: ['weather_node'],
    });
    await threads.updateState(thread_id, {
      values: { answer: 'It rains.' },
      asNode: 'weather_node',
      checkpoint,
    });
    expect(await threads.getState(thread_id, checkpoint)).toMatchObject({
      values: { ...edit, answer: 'It rains.' },
      next: [],
    });
    expect(await runs.wait(thread_id, 'weather', { input: null })).toMatchObject({
      answer: 'It rains.',
    });
    await expect(
      threads.updateState(thread_id, { values: edit, asNode: 'model_node' }),
    ).rejects.toMatchObject({ status: 400 });
  });

  test('must be one that the graph has', async () => {
    const { threads } = agent.client;
    const { thread_id, checkpoint } = await waiting();
    const other = { ...checkpoint, checkpoint_ns: 'nowhere:1' };
    await expect(
      threads.updateState(thread_id, { values: edit, checkpoint: other }),
    ).rejects.toMatchObject({ status: 400 });
    expect((await threads.getState(thread_id, other)).values).toEqual({});
  });
});

test('a history has one state unless the client asks for more', async () => {
  const { threads, runs } = agent.client;
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, 'steps', { input: { left: 3 } });
  const history = async (init?: RequestInit): Promise<unknown[]> =>
    (await fetch(`${agent.url}/threads/${thread_id}/history`, init)).json() as Promise<unknown[]>;
  expect(await history()).toHaveLength(1);
  expect(await history({ method: 'POST', body: '{}' })).toHaveLength(1);
  expect(await history({ method: 'POST' })).toHaveLength(1);
  expect(await threads.getHistory(thread_id)).toHaveLength(5);
});

test('a state shows what a client put into it, even if that looks like an object of a class', async () => {
  const { threads, runs } = agent.client;
  const { thread_id } = await threads.create();
  const journal = { lc: 2, type: 'constructor', id: ['RegExp'], args: ['(a+)+$', ''] };
  await runs.wait(thread_id, 'steps', { input: { left: 0 } });
  await threads.updateState(thread_id, { values: { journal } });
  expect((await threads.getState(thread_id)).values).toMatchObject({ journal });
  expect((await threads.get(thread_id)).values).toMatchObject({ journal });
});
