import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';

/*
 * Values of classes within states: models of pydantic, dataclasses, enums, named tuples and sets come back as these,
 * in the next run, behind an answer, a write, a step back, and on another worker.
 */

let database: TestDatabase;
let agent: AgentProcess;

const start = (): Promise<AgentProcess> => startPython(database.uri, {}, 'classes.gx.json');

beforeAll(async () => {
  database = await freshDatabase();
  agent = await start();
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

test('a graph with the storage of the server keeps all that was set on it', async () => {
  const options = { env: { PYTHONPATH: 'python:test/python' } };
  const { stdout } = await promisify(execFile)(
    `${inject('python')}/python`,
    ['test/python/copies.py'],
    options,
  );
  expect(stdout).toBe('All copies are whole.\n');
});

type Found = { found: unknown[] };

const newThread = async (): Promise<string> => (await agent.client.threads.create()).thread_id;

/** Each step is its own worker: no process has made the values that it reads. */
async function onAnotherWorker(): Promise<void> {
  await agent.kill('SIGKILL');
  agent = await start();
}

const wait = async (thread_id: string, graph: string, body: object): Promise<Found> =>
  (await agent.client.runs.wait(thread_id, graph, body)) as unknown as Found;

const KIND: Record<string, string> = {
  typed: 'dict',
  configured: 'dict',
  data: 'Data',
  made: 'Data',
  model: 'Model',
};
const GRAPHS = Object.keys(KIND);

/** Answers that are looked at: a run's first step, the answer to its question, and the step behind it. */
const first = (before: string | null): object => ({ 'run before': before, missed: [] });
const answered = (graph: string, answer: string): object[] => [
  { answer, missed: [] },
  { behind: KIND[graph], missed: [] },
];

describe.each(GRAPHS)('a state of %s', (graph) => {
  test('has its classes behind an answer, in the next run, and in one that begins from an earlier state', async () => {
    const thread_id = await newThread();
    await wait(thread_id, graph, { input: { name: 'one' } });
    const one = [first(null), ...answered(graph, 'yes')];
    expect(await wait(thread_id, graph, { command: { resume: 'yes' } })).toMatchObject({
      found: one,
    });
    const { values } = await agent.client.threads.getState(thread_id);
    const [last] = await agent.client.threads.getHistory(thread_id, { limit: 1 });
    expect(last!.values).toEqual(values);
    await wait(thread_id, graph, { input: { name: 'two' } });
    const two = [...one, first('one'), ...answered(graph, 'no')];
    expect(await wait(thread_id, graph, { command: { resume: 'no' } })).toMatchObject({
      found: two,
    });
    await wait(thread_id, graph, {
      input: { name: 'three' },
      checkpointId: last!.checkpoint.checkpoint_id,
    });
    expect(await wait(thread_id, graph, { command: { resume: 'back' } })).toMatchObject({
      found: [...one, first('one'), ...answered(graph, 'back')],
    });
  });

  test('has them behind a write of another field', async () => {
    const thread_id = await newThread();
    await wait(thread_id, graph, { input: { name: 'one' } });
    await agent.client.threads.updateState(thread_id, { values: { found: ['by hand'] } });
    const found = [first(null), 'by hand', ...answered(graph, 'yes')];
    expect(await wait(thread_id, graph, { command: { resume: 'yes' } })).toMatchObject({ found });
  });
});

test('another worker finds the classes, at the question, at the next run, and in a subgraph', async () => {
  const threads = new Map<string, string>();
  for (const graph of [...GRAPHS, 'outer']) threads.set(graph, await newThread());
  const every = (body: object): Promise<Found[]> =>
    Promise.all([...threads].map(([graph, thread]) => wait(thread, graph, body)));
  await every({ input: { name: 'one' } });
  await onAnotherWorker();
  const kinds = { ...KIND, outer: 'dict' } as Record<string, string>;
  const answersOf = (answer: string): object[][] =>
    [...threads.keys()].map((graph) => [
      { answer, missed: [] },
      { behind: kinds[graph], missed: [] },
    ]);
  expect((await every({ command: { resume: 'yes' } })).map(({ found }) => found)).toEqual(
    answersOf('yes').map((found) => [first(null), ...found]),
  );
  await onAnotherWorker();
  const again = await every({ input: { name: 'two' } });
  expect(again.slice(0, GRAPHS.length).map(({ found }) => found.at(-1))).toEqual(
    GRAPHS.map(() => first('one')),
  );
}, 240_000);

test('a graph that a node calls has its classes', async () => {
  const thread_id = await newThread();
  await wait(thread_id, 'calls', { input: { name: 'one' } });
  await onAnotherWorker();
  expect(await wait(thread_id, 'calls', { command: { resume: 'yes' } })).toMatchObject({
    found: [{ called: [first(null), ...answered('configured', 'yes')] }],
  });
}, 240_000);

test('arguments of Send come back as they were, also where no annotation names their classes', async () => {
  const thread_id = await newThread();
  await wait(thread_id, 'sends', { input: {} });
  await onAnotherWorker();
  const asked = Object.values((await agent.client.threads.get(thread_id)).interrupts).flat();
  const resume = Object.fromEntries(asked.map(({ id }) => [id!, 'yes']));
  const owner = (name: string): object => ({
    Owner: { name: `str ${name}`, phase: 'Phase.DONE', seen: { frozenset: ['int 2', 'int 3'] } },
  });
  expect(await wait(thread_id, 'sends', { command: { resume } })).toMatchObject({
    found: [
      {
        dict: [
          ['str plan', { Plan: { inner: { Inner: { owner: owner('p') } } } }],
          ['str phase', 'Phase.DONE'],
        ],
      },
      owner('o'),
      { Plan: { inner: { Inner: { owner: owner('q') } } } },
      { list: ['Phase.ASKED', { set: [expect.stringContaining('Owner') as string] }] },
    ],
  });
}, 240_000);

describe('a function of the functional API', () => {
  test('finds what it saved, and what its tasks returned before the question, in their classes', async () => {
    const thread_id = await newThread();
    await wait(thread_id, 'counts', { input: 'one' });
    await onAnotherWorker();
    expect(await wait(thread_id, 'counts', { command: { resume: 'yes' } })).toEqual({
      answer: 'yes',
      task: [],
      previous: null,
    });
    await wait(thread_id, 'counts', { input: 'two' });
    await onAnotherWorker();
    expect(await wait(thread_id, 'counts', { command: { resume: 'no' } })).toEqual({
      answer: 'no',
      task: [],
      previous: [],
    });
  }, 240_000);

  test('is given what it saved in the class that its annotation names', async () => {
    const thread_id = await newThread();
    await wait(thread_id, 'names', { input: 'one' });
    const previous = {
      Owner: { name: 'str one', phase: 'Phase.DONE', seen: { frozenset: ['int 2', 'int 3'] } },
    };
    expect(await wait(thread_id, 'names', { input: 'two' })).toEqual({ previous });
  });
});
