import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/* A graph of each kind: of state, of step between nodes, of what its nodes ask for, and of function that makes it. */

const FILE = path.resolve('test/python/kinds/graphs.py');
const folder = mkdtempSync(path.join(tmpdir(), 'gx-kinds-'));
let database: TestDatabase;
let agent: AgentProcess;

const GRAPHS = [
  'asks',
  'called',
  'calls_within',
  'counts',
  'defaults',
  'generated',
  'generated_async',
  'goes',
  'leaves',
  'looks',
  'managed',
  'managed_plainly',
  'model',
  'narrow',
  'of_both',
  'of_both_the_other_way',
  'of_class',
  'of_class_as_text',
  'of_config',
  'own_parts',
  'partial',
  'plain',
  'record',
  'retries',
  'stops_before',
  'tastes',
  'two_ask',
];

beforeAll(async () => {
  database = await freshDatabase();
  const config = path.join(folder, 'gx.json');
  writeFileSync(
    config,
    JSON.stringify({ graphs: Object.fromEntries(GRAPHS.map((name) => [name, `${FILE}:${name}`])) }),
  );
  agent = await startAgent({
    database: database.uri,
    config,
    env: { GX_PYTHON: `${inject('python')}/python` },
  });
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
  rmSync(folder, { recursive: true });
});

type Case = { graph: string; input?: unknown; more?: object; expected: unknown };

const flavour = { config: { configurable: { flavour: 'sweet' } } };

async function result({ graph, input = { given: 'x' }, more = {} }: Case): Promise<unknown> {
  const { thread_id } = await agent.client.threads.create();
  return agent.client.runs.wait(thread_id, graph, { input: input as never, ...more });
}

describe('a state', () => {
  test.each<[string, Case]>([
    ['is a dataclass', { graph: 'record', expected: { given: 'x', said: ['Record', 'x'] } }],
    [
      'is a model of Pydantic, which holds another one',
      {
        graph: 'model',
        input: { given: { count: 1 } },
        expected: { given: { count: 2 }, said: ['Model', 'Inner'] },
      },
    ],
    [
      'has more fields than its input',
      { graph: 'narrow', expected: { said: ['x'], given: 'hidden' } },
    ],
  ])('%s', async (_, one) => expect(await result(one)).toEqual(one.expected));

  test('that its model does not take fails the run with the words of Pydantic', async () => {
    const input = { given: { count: 'many' } };
    const failed = await result({
      graph: 'model',
      input,
      more: { raiseError: false },
      expected: {},
    });
    expect(failed).toMatchObject({
      __error__: {
        error: 'ValidationError',
        message: expect.stringContaining('given.count') as string,
      },
    });
  });
});

describe('a step', () => {
  test.each<[string, Case]>([
    [
      'goes where a command says, also to a copy of a node',
      { graph: 'goes', expected: { given: 'x', said: ['first', 'second', 'third x'] } },
    ],
    [
      'goes from a graph within a node to the graph around it',
      { graph: 'leaves', expected: { given: 'x', said: ['from within', 'behind'] } },
    ],
    ['is tried again by its policy', { graph: 'retries', expected: { given: 'x', said: [3] } }],
    [
      'knows whether it is the last one',
      { graph: 'managed', expected: { given: 'x', said: [false] } },
    ],
    [
      'stores by the server, whatever its graph brings',
      { graph: 'own_parts', expected: { given: 'x', said: ['own'] } },
    ],
  ])('%s', async (_, one) => expect(await result(one)).toEqual(one.expected));

  test('of two that ask at the same time is answered by the id of its question', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'two_ask', { input: { given: 'x' } });
    const asked = Object.values((await agent.client.threads.get(thread_id)).interrupts).flat();
    expect(asked.map(({ value }) => String(value)).toSorted()).toEqual(['one', 'two']);
    const resume = Object.fromEntries(
      asked.map(({ id, value }) => [id!, `answer ${String(value)}`]),
    );
    expect(await agent.client.runs.wait(thread_id, 'two_ask', { command: { resume } })).toEqual({
      given: 'x',
      said: ['one answer one', 'two answer two'],
    });
  });

  test('before which its graph stops waits to be let on', async () => {
    const { thread_id } = await agent.client.threads.create();
    expect(
      await agent.client.runs.wait(thread_id, 'stops_before', { input: { given: 'x' } }),
    ).toMatchObject({ said: ['one'] });
    expect(await agent.client.threads.getState(thread_id)).toMatchObject({ next: ['two'] });
    expect(await agent.client.runs.wait(thread_id, 'stops_before', { input: null })).toMatchObject({
      said: ['one', 'two'],
    });
  });

  test('calls a graph that has a memory of its own in the thread', async () => {
    const { thread_id } = await agent.client.threads.create();
    const call = (): Promise<unknown> =>
      agent.client.runs.wait(thread_id, 'calls_within', { input: { given: 'x' } });
    expect(await call()).toMatchObject({ said: [[0]] });
    expect(await call()).toMatchObject({ said: [[0], [0, 1]] });
  });
});

describe('a node', () => {
  test.each<[string, Case]>([
    [
      'asks LangGraph for the store and the configuration',
      {
        graph: 'looks',
        more: flavour,
        expected: { given: 'x', said: ['sweet', true, { kept: 1 }] },
      },
    ],
    [
      'is given the context and the store by its runtime',
      {
        graph: 'tastes',
        more: { context: { flavour: 'sour' } },
        expected: { given: 'x', said: ['sour', true] },
      },
    ],
  ])('%s', async (_, one) => expect(await result(one)).toEqual(one.expected));

  test.each([
    [{ graph: 'looks' }, 'looks around', flavour],
    [{ graph: 'tastes' }, 'tastes', { context: { flavour: 'sour' } }],
  ])('writes to the stream: %o', async ({ graph }, word, more) => {
    const events = await Array.fromAsync(
      agent.client.runs.stream(null, graph, {
        input: { given: 'x' },
        streamMode: 'custom',
        ...more,
      }),
    );
    expect(events.filter(({ event }) => event === 'custom').map(({ data }) => data)).toEqual([
      word,
    ]);
  });
});

describe('a function of the functional API', () => {
  test('finds what it has saved in the run before', async () => {
    const { thread_id } = await agent.client.threads.create();
    const run = (given: string): Promise<unknown> =>
      agent.client.runs.wait(thread_id, 'counts', { input: given as never });
    expect([await run('a'), await run('b')]).toEqual([
      { before: 0, given: 'a' },
      { before: 1, given: 'b' },
    ]);
    expect(await result({ graph: 'counts', input: 'c', expected: {} })).toEqual({
      before: 0,
      given: 'c',
    });
  });

  test('asks, and does no task again behind the answer', async () => {
    const { thread_id } = await agent.client.threads.create();
    const graph = 'asks';
    await agent.client.runs.wait(thread_id, graph, { input: thread_id as never });
    expect(await result({ graph: 'asks', input: 'other', expected: {} })).not.toHaveProperty(
      'answer',
    );
    expect(await agent.client.runs.wait(thread_id, graph, { command: { resume: 'yes' } })).toEqual({
      first: `${thread_id} 1`,
      answer: 'yes',
    });
  });
});

describe('a graph is made by', () => {
  const access = 'threads.create_run';
  test.each<[string, Case]>([
    ['a function of nothing', { graph: 'plain', expected: 'plain' }],
    ['an async function of the configuration', { graph: 'of_config', expected: 'sweet' }],
    [
      'a function of the configuration and the runtime',
      { graph: 'of_both', expected: ['sweet', access] },
    ],
    [
      'the same with its parameters the other way',
      { graph: 'of_both_the_other_way', expected: ['sweet', access] },
    ],
    ['a context manager', { graph: 'managed_plainly', expected: 'managed plainly' }],
    ['a generator', { graph: 'generated', expected: 'generated' }],
    [
      'an async generator of the configuration',
      { graph: 'generated_async', expected: ['generated', 'sweet'] },
    ],
    ['a partial call', { graph: 'partial', expected: 'partial' }],
    ['an object that can be called', { graph: 'called', expected: ['called', 'sweet'] }],
    [
      'a function with more parameters that have defaults',
      { graph: 'defaults', expected: 'default' },
    ],
  ])('%s', async (_, one) =>
    expect(await result({ ...one, more: flavour })).toEqual({ given: 'x', said: [one.expected] }),
  );
});

test.each(['of_class', 'of_class_as_text'])(
  '%s is given the context in the class that its runtime names, with its defaults',
  async (graph) => {
    const said = async (more: object): Promise<unknown> => result({ graph, expected: {}, more });
    expect(await said({})).toEqual({ given: 'x', said: ['calm'] });
    expect(await said({ context: {} })).toEqual({ given: 'x', said: ['calm'] });
    expect(await said({ context: { tone: 'sharp', other: 1 } })).toEqual({
      given: 'x',
      said: ['sharp'],
    });
  },
);
