import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { StreamMode } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/*
 * What clients see of a runner is the same wherever it runs: a worker thread with LangGraph, or a process in another
 * language that speaks the protocol of the wall and stores by it.
 */

const RUNNER = `python3 ${resolve('test/agent/runner/runner.py')}`;
const PYTHON = { config: 'test/agent/runner/gx.json', env: { GX_RUNNER: RUNNER } };

describe.each<[string, { config: string; env: Record<string, string> }]>([
  ['a worker thread', { config: 'test/agent/runner/graphs/gx.json', env: {} }],
  ['another process', PYTHON],
])('a runner in %s', (_, { config, env }) => {
  let database: TestDatabase;
  let agent: AgentProcess;
  const key = randomBytes(32).toString('base64');

  const start = (): Promise<AgentProcess> =>
    startAgent({ database: database.uri, config, env: { ...env, GX_AES_KEY: key } });

  beforeAll(async () => {
    database = await freshDatabase();
    agent = await start();
  });
  afterAll(async () => {
    await agent.kill('SIGKILL');
    await database.drop();
  });

  const newThread = async (): Promise<string> => (await agent.client.threads.create()).thread_id;
  const statusOf = async (thread_id: string, run_id: string): Promise<string> =>
    (await agent.client.runs.get(thread_id, run_id)).status;
  const ended = (thread_id: string, run_id: string): Promise<string> =>
    until('the run is over', async () => {
      const status = await statusOf(thread_id, run_id);
      return status !== 'pending' && status !== 'running' && status;
    });

  /** Starts a run that counts, and waits until it has stored some of it. */
  async function counting(
    to: number,
    options: object = {},
  ): Promise<{ thread_id: string; run_id: string }> {
    const thread_id = await newThread();
    const input = { to, pause: 0.1 };
    const { run_id } = await agent.client.runs.create(thread_id, 'count', {
      input,
      config: { recursion_limit: 1000 },
      ...options,
    });
    const stored = 'select 1 from gx.checkpoints where thread_id = $1 offset 3';
    await until(
      'it has stored some steps',
      async () => (await database.sql(stored, [thread_id])).length > 0,
    );
    return { thread_id, run_id };
  }

  test('answers, and its thread goes on from there', async () => {
    const thread_id = await newThread();
    for (const question of ['one', 'Grüße, 世界 🌍']) {
      const values = await agent.client.runs.wait(thread_id, 'echo', { input: { question } });
      expect(values).toEqual({ question, answer: `echo: ${question}` });
    }
    const state = await agent.client.threads.getState(thread_id);
    expect(state).toMatchObject({
      values: { answer: 'echo: Grüße, 世界 🌍' },
      next: [],
      metadata: { source: 'loop' },
    });
    expect((await agent.client.threads.get(thread_id)).status).toBe('idle');
  });

  test.each(['async', 'sync', 'exit'] as const)(
    'streams each event once, in its order, with the durability "%s"',
    async (durability) => {
      const streamMode: StreamMode[] = ['custom', 'updates', 'values'];
      const input = { events: 200 };
      const options = { input, streamMode, durability, streamResumable: durability === 'async' };
      const events = (await Array.fromAsync(
        agent.client.runs.stream(await newThread(), 'stream', options),
      )) as {
        event: string;
        data: unknown;
      }[];
      const custom = Array.from({ length: 200 }, (__, number) => ({
        event: 'custom',
        data: { number, text: 'Grüße, 世界' },
      }));
      expect(events.map(({ event, data }) => ({ event, data }))).toEqual([
        { event: 'metadata', data: { run_id: expect.any(String), attempt: 1 } },
        { event: 'values', data: input },
        ...custom,
        { event: 'updates', data: { stream: { streamed: 200 } } },
        { event: 'values', data: { ...input, streamed: 200 } },
      ]);
    },
  );

  test('runs without a thread', async () => {
    expect(await agent.client.runs.wait(null, 'echo', { input: { question: 'x' } })).toMatchObject({
      answer: 'echo: x',
    });
  });

  test('asks, waits for the answer, and goes on with it', async () => {
    const thread_id = await newThread();
    await agent.client.runs.wait(thread_id, 'ask', { input: { question: 'q' } });
    const thread = await agent.client.threads.get(thread_id);
    expect([thread.status, Object.values(thread.interrupts).flat()]).toMatchObject([
      'interrupted',
      [{ value: 'Which colour?' }],
    ]);
    expect(await agent.client.threads.getState(thread_id)).toMatchObject({
      next: ['ask'],
      tasks: [{ interrupts: [{ value: 'Which colour?' }] }],
    });
    const values = await agent.client.runs.wait(thread_id, 'ask', { command: { resume: 'blue' } });
    expect(values).toEqual({ question: 'q', colour: 'blue', answer: 'echo: q' });
    expect((await agent.client.threads.get(thread_id)).status).toBe('idle');
  });

  test('fails as its step does, and runs others', async () => {
    const thread_id = await newThread();
    const { run_id } = await agent.client.runs.create(thread_id, 'fail', { input: {} });
    expect(await ended(thread_id, run_id)).toBe('error');
    expect(await agent.client.runs.wait(null, 'echo', { input: { question: 'x' } })).toMatchObject({
      answer: 'echo: x',
    });
  });

  test('stops when its run is cancelled, and keeps the steps that were done', async () => {
    const { thread_id, run_id } = await counting(600);
    await agent.client.runs.cancel(thread_id, run_id, true);
    expect(await statusOf(thread_id, run_id)).toBe('interrupted');
    const { values } = await agent.client.threads.getState(thread_id);
    expect((values as { done: number }).done).toBeGreaterThan(0);
  });

  test('ends when it does not hear of a cancel, and the other runs go on', async () => {
    const other = await counting(40);
    const thread_id = await newThread();
    const { run_id } = await agent.client.runs.create(thread_id, 'stick', {
      input: { question: 'q' },
    });
    await until('it is under way', async () => (await statusOf(thread_id, run_id)) === 'running');
    await agent.client.runs.cancel(thread_id, run_id, true);
    expect(await statusOf(thread_id, run_id)).toBe('interrupted');
    expect(await ended(other.thread_id, other.run_id)).toBe('success');
    expect((await agent.client.threads.getState(other.thread_id)).values).toMatchObject({
      done: 40,
    });
  });

  test('uses the store, in which clients find the same', async () => {
    const values = await agent.client.runs.wait(null, 'remember', {
      input: { key: 'k', value: 'kept' },
    });
    expect(values).toMatchObject({ read: 'kept' });
    expect((await agent.client.store.getItem(['python'], 'k'))!.value).toEqual({ secret: 'kept' });
  });

  test('uses the routes of its own server without the network, with bodies that cross in many pieces', async () => {
    const value = 'Grüße '.repeat(60_000);
    const values = (await agent.client.runs.wait(null, 'inside', {
      input: { key: 'large', value },
    })) as { read: string };
    expect(values.read === value).toBe(true);
    const item = await agent.client.store.getItem(['inside'], 'large');
    expect(item!.value['text'] === value).toBe(true);
  });

  test('stores nothing that can be read without the key', async () => {
    await agent.client.runs.wait(await newThread(), 'echo', {
      input: { question: 'a plain word' },
    });
    const found = `select 1 from gx.checkpoint_blobs where position('plain word'::bytea in blob) > 0`;
    expect(await database.sql(found)).toEqual([]);
    expect(await database.sql(`select 1 from gx.checkpoint_blobs limit 1`)).toHaveLength(1);
  });

  test('goes on elsewhere from the last step that was stored, when its server is killed', async () => {
    const { thread_id, run_id } = await counting(30, { streamResumable: true });
    await agent.kill('SIGKILL');
    agent = await start();
    expect(await ended(thread_id, run_id)).toBe('success');
    expect((await agent.client.threads.getState(thread_id)).values).toMatchObject({ done: 30 });
    const [row] = await database.sql<{ attempt: number }>(
      'select attempt from gx.run where run_id = $1',
      [run_id],
    );
    expect(row!.attempt).toBe(2);
    const steps = await database.sql<{ step: number }>(
      `select (metadata->>'step')::int as step from gx.checkpoints where thread_id = $1 order by checkpoint_id`,
      [thread_id],
    );
    // Nothing that was stored was done again.
    expect(new Set(steps.map(({ step }) => step)).size).toBe(steps.length);
  });
});

test('a runner of another major version of the protocol is refused with a sentence', async () => {
  const database = await freshDatabase();
  const { code, output } = await failedStart({
    database: database.uri,
    config: PYTHON.config,
    env: { ...PYTHON.env, TEST_WALL_VERSION: '2.0' },
  });
  expect(code).not.toBe(0);
  expect(output).toContain(
    'The runner of the graphs speaks version 2.0 of the protocol, and this side speaks 1.0',
  );
  await database.drop();
});

test('a runner that can not be started is named in the sentence of the start', async () => {
  const database = await freshDatabase();
  const { code, output } = await failedStart({
    database: database.uri,
    config: PYTHON.config,
    env: { GX_RUNNER: '/nowhere/runner' },
  });
  expect([
    code === 0,
    output.includes("The runner can't be started: spawn /nowhere/runner ENOENT"),
  ]).toEqual([false, true]);
  await database.drop();
});
