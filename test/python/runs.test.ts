import { readFileSync, readdirSync } from 'node:fs';
import process from 'node:process';
import type { StreamMode } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startPython } from './agent.ts';

/* Runs of Python graphs, as clients of the agent server see them. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startPython(database.uri, { GX_DEPLOYMENT: 'helper', GX_REVISION: 'helper-00001' });
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

type Event = { event: string; data: unknown };

const eventsOf = async (
  graph: string,
  input: unknown,
  streamMode: StreamMode[],
  more: object = {},
): Promise<Event[]> => {
  const stream = agent.client.runs.stream(await newThread(), graph, {
    input: input as Record<string, unknown>,
    streamMode,
    ...more,
  });
  return (await Array.fromAsync(stream as AsyncIterable<Event>)).map(({ event, data }) => ({
    event,
    data,
  }));
};

/** Returns the process of the runner, which is a child of the server. */
const runnerOf = ({ process: { pid } }: AgentProcess): number => {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const isRunner = (child: string): boolean => {
    try {
      const [, parent] = readFileSync(`/proc/${child}/stat`, 'utf8').split(') ')[1]!.split(' ');
      return (
        parent === String(pid) &&
        readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('gx_runner')
      );
    } catch {
      return false;
    }
  };
  return Number(children.find(isRunner));
};

describe('a run', () => {
  test('answers, and its thread goes on from there', async () => {
    const thread_id = await newThread();
    for (const question of ['one', 'Grüße, 世界 🌍'])
      expect(await agent.client.runs.wait(thread_id, 'echo', { input: { question } })).toEqual({
        question,
        answer: `echo: ${question}`,
      });
    const state = await agent.client.threads.getState(thread_id);
    expect(state).toMatchObject({
      values: { answer: 'echo: Grüße, 世界 🌍' },
      next: [],
      metadata: { source: 'loop', graph_id: 'echo' },
    });
    expect((await agent.client.threads.get(thread_id)).status).toBe('idle');
  });

  test('runs without a thread', async () => {
    expect(await agent.client.runs.wait(null, 'echo', { input: { question: 'x' } })).toMatchObject({
      answer: 'echo: x',
    });
  });

  test('fails with the name and the message of its error, and others run', async () => {
    const thread_id = await newThread();
    const { run_id } = await agent.client.runs.create(thread_id, 'fails', { input: {} });
    expect(await ended(thread_id, run_id)).toBe('error');
    const events = await eventsOf('fails', {}, ['values']);
    expect(events.at(-1)).toEqual({
      event: 'error',
      data: { error: 'ValueError', message: 'The node fails.' },
    });
    expect(await agent.client.runs.wait(null, 'echo', { input: { question: 'x' } })).toMatchObject({
      answer: 'echo: x',
    });
  });

  test('sends work to copies of a node', async () => {
    const values = await agent.client.runs.wait(null, 'spread', {
      input: { words: ['a', 'bcd', 'ef'] },
    });
    expect(values).toMatchObject({ lengths: [1, 3, 2] });
  });

  const lineOf = (run_id: string, msg: string): Promise<Record<string, unknown>> =>
    until(`the line "${msg}"`, () => {
      const lines = agent
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{') && line.includes(run_id));
      return lines
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .find((line) => line['msg'] === msg);
    });

  test('logs and prints with its ids', async () => {
    const thread_id = await newThread();
    const { run_id } = await agent.client.runs.create(thread_id, 'echo', {
      input: { question: 'q' },
    });
    await ended(thread_id, run_id);
    const ids = {
      run_id,
      thread_id,
      graph_id: 'echo',
      node: 'answer',
      request_id: expect.any(String) as string,
      trace_id: run_id.replaceAll('-', ''),
      deployment: 'helper',
      revision: 'helper-00001',
    };
    expect(await lineOf(run_id, 'answers a question')).toMatchObject({
      ...ids,
      level: 'info',
      logger: 'graphs.plain',
    });
    expect(await lineOf(run_id, 'prints a line')).toMatchObject(ids);
    expect(await lineOf(run_id, 'complains')).toMatchObject({ ...ids, stream: 'stderr' });
  });

  test('logs and prints with its ids in threads that it starts, also where one thread serves several runs', async () => {
    for (const name of ['the first', 'the second']) {
      const thread_id = await newThread();
      const { run_id } = await agent.client.runs.create(thread_id, 'in_threads', {
        input: { name },
      });
      await ended(thread_id, run_id);
      const ids = {
        run_id,
        thread_id,
        graph_id: 'in_threads',
        trace_id: run_id.replaceAll('-', ''),
      };
      for (const done of ['prints in a thread', 'logs later', 'logs in a pool'])
        expect(await lineOf(run_id, `${name} ${done}`)).toMatchObject(ids);
      const failed = await lineOf(run_id, 'a thread of a graph failed');
      expect(failed).toMatchObject({ ...ids, err: { message: `${name} fails in a thread` } });
    }
  });
});

describe('a question', () => {
  test.each(['approval', 'outer'])(
    'waits for its answer, and goes on with it: %s',
    async (graph) => {
      const thread_id = await newThread();
      const asked = await agent.client.runs.wait(thread_id, graph, { input: { draft: 'd' } });
      const value = { question: 'Is it good?', draft: 'd' };
      expect(asked).toMatchObject({ draft: 'd', __interrupt__: [{ value }] });
      const thread = await agent.client.threads.get(thread_id);
      expect([thread.status, Object.values(thread.interrupts).flat()]).toMatchObject([
        'interrupted',
        [{ value }],
      ]);
      const state = await agent.client.threads.getState(thread_id);
      expect(state.next).toEqual([graph === 'outer' ? 'inner' : 'approve']);
      expect(state.tasks.map(({ interrupts }) => interrupts)).toEqual([
        [{ id: expect.any(String) as string, value }],
      ]);
      expect(Object.values(thread.interrupts)).toEqual([
        [{ id: expect.any(String) as string, value }],
      ]);
      const values = await agent.client.runs.wait(thread_id, graph, { command: { resume: 'yes' } });
      expect(values).toEqual({ draft: 'd', approved: 'yes', published: true });
      expect((await agent.client.threads.get(thread_id)).status).toBe('idle');
    },
  );

  test('of a subgraph shows the state in which it waits', async () => {
    const thread_id = await newThread();
    await agent.client.runs.wait(thread_id, 'outer', { input: { draft: 'd' } });
    const { tasks } = await agent.client.threads.getState(thread_id, undefined, {
      subgraphs: true,
    });
    expect(tasks[0]).toMatchObject({
      name: 'inner',
      state: { values: { draft: 'd' }, next: ['approve'] },
    });
  });

  test('is not asked where a run stops before the node, until it is let on', async () => {
    const thread_id = await newThread();
    await agent.client.runs.wait(thread_id, 'approval', {
      input: { draft: 'd' },
      interruptBefore: ['approve'],
    });
    expect((await agent.client.threads.getState(thread_id)).next).toEqual(['approve']);
    expect((await agent.client.threads.get(thread_id)).status).toBe('interrupted');
  });
});

describe('a stream', () => {
  test.each(['async', 'sync', 'exit'] as const)(
    'has each event once, in its order, with the durability "%s"',
    async (durability) => {
      const input = { events: 200 };
      const events = await eventsOf('streams', input, ['custom', 'updates', 'values'], {
        durability,
        streamResumable: durability === 'async',
      });
      const custom = Array.from({ length: 200 }, (__, number) => ({
        event: 'custom',
        data: { number, text: 'Grüße, 世界' },
      }));
      expect(events).toEqual([
        { event: 'metadata', data: { run_id: expect.any(String), attempt: 1 } },
        { event: 'values', data: input },
        ...custom,
        { event: 'updates', data: { stream: { streamed: 200 } } },
        { event: 'values', data: { ...input, streamed: 200 } },
      ]);
    },
  );
});

describe('a stop', () => {
  /** Starts a run, and returns once its node is under way. */
  async function begun(
    graph: string,
    input: Record<string, unknown>,
  ): Promise<{ thread_id: string; run_id: string }> {
    const thread_id = await newThread();
    const { run_id } = await agent.client.runs.create(thread_id, graph, { input });
    const steps = 'select 1 from gx.checkpoints where thread_id = $1 offset 1';
    await until(
      'its node is under way',
      async () => (await database.sql(steps, [thread_id])).length > 0,
    );
    return { thread_id, run_id };
  }

  test.each([
    ['an async node', 'slow', { question: 'q' }, 'wait'],
    ['a node in a thread', 'blocks', { pause: 20 }, 'block'],
  ])(
    'of %s waits for nothing, and costs no other run its runner',
    async (_, graph, input, node) => {
      const runner = runnerOf(agent);
      const { thread_id, run_id } = await begun(graph, input);
      const at = performance.now();
      await agent.client.runs.cancel(thread_id, run_id, true);
      // A runner that does not obey is ended after two seconds.
      expect(performance.now() - at).toBeLessThan(1500);
      expect(await statusOf(thread_id, run_id)).toBe('interrupted');
      expect((await agent.client.threads.getState(thread_id)).next).toEqual([node]);
      expect(runnerOf(agent)).toBe(runner);
    },
  );

  test('by Ctrl-C, which all processes of a terminal hear, is left to the server', async () => {
    const runner = runnerOf(agent);
    const { thread_id, run_id } = await begun('counter', { to: 3, pause: 0.2 });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.kill(runner, signal);
    expect(await ended(thread_id, run_id)).toBe('success');
    expect(runnerOf(agent)).toBe(runner);
  });

  test('of a node that holds the loop ends the runner, and the other runs go on', async () => {
    const other = await begun('counter', { to: 20, pause: 0.2 });
    const { thread_id, run_id } = await begun('holds', { pause: 60 });
    await agent.client.runs.cancel(thread_id, run_id, true);
    expect(await statusOf(thread_id, run_id)).toBe('interrupted');
    expect(await ended(other.thread_id, other.run_id)).toBe('success');
    expect((await agent.client.threads.getState(other.thread_id)).values).toMatchObject({
      done: 20,
    });
  });
});

describe('a runner that is killed', () => {
  test('loses no step that was stored', async () => {
    const thread_id = await newThread();
    const input = { to: 20, pause: 0.1 };
    const { run_id } = await agent.client.runs.create(thread_id, 'counter', {
      input,
      config: { recursion_limit: 100 },
    });
    const runner = await until('it has stored some steps', async () => {
      const { pids = [] } = (await agent.client.threads.getState(thread_id)).values as {
        pids?: number[];
      };
      return pids.length > 3 && pids.at(-1)!;
    });
    process.kill(runner, 'SIGKILL');
    expect(await ended(thread_id, run_id)).toBe('success');
    const values = (await agent.client.threads.getState(thread_id)).values as {
      done: number;
      pids: number[];
    };
    // Each step adds its process, so none of the twenty was done twice.
    expect([values.done, values.pids.length, new Set(values.pids).size]).toEqual([20, 20, 2]);
    const [row] = await database.sql<{ attempt: number }>(
      'select attempt from gx.run where run_id = $1',
      [run_id],
    );
    expect(row!.attempt).toBe(2);
  });
});
