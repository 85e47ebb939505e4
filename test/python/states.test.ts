import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';

/* States of threads of Python graphs: read, listed, written by hand, and gone back to. */

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

/** Returns a thread on which a graph has run. */
async function threadOf(graph: string, input: Record<string, unknown>): Promise<string> {
  const { thread_id } = await agent.client.threads.create();
  await agent.client.runs.wait(thread_id, graph, { input });
  return thread_id;
}

type Values = Record<string, unknown>;

test('the history has each step, newest first', async () => {
  const thread_id = await threadOf('counter', { to: 3 });
  const history = await agent.client.threads.getHistory<Values>(thread_id);
  expect(history.map(({ values }) => values['done'] ?? 0)).toEqual([3, 2, 1, 0, 0]);
  expect(history.map(({ metadata }) => metadata?.['step'])).toEqual([3, 2, 1, 0, -1]);
  expect(history.map(({ next }) => next)).toEqual([
    [],
    ['step'],
    ['step'],
    ['step'],
    ['__start__'],
  ]);
  expect(history[0]!.parent_checkpoint).toEqual(history[1]!.checkpoint);
  const limited = await agent.client.threads.getHistory<Values>(thread_id, {
    limit: 1,
    before: { configurable: history[1]!.checkpoint },
  });
  expect(limited.map(({ checkpoint }) => checkpoint)).toEqual([history[2]!.checkpoint]);
  const inputs = await agent.client.threads.getHistory(thread_id, {
    metadata: { source: 'input' },
  });
  expect(inputs).toHaveLength(1);
});

test('a run goes on from an earlier state', async () => {
  const thread_id = await threadOf('counter', { to: 3 });
  const [, , first] = await agent.client.threads.getHistory<Values>(thread_id);
  const { checkpoint_id } = first!.checkpoint as { checkpoint_id: string };
  const values = (await agent.client.runs.wait(thread_id, 'counter', {
    input: null,
    checkpointId: checkpoint_id,
  })) as Values;
  expect(values).toMatchObject({ done: 3 });
  expect((await agent.client.threads.getHistory(thread_id)).length).toBeGreaterThan(5);
});

test('a state is written as a node would, and the run goes on behind that node', async () => {
  const thread_id = await threadOf('approval', { draft: 'd' });
  const written = await agent.client.threads.updateState(thread_id, {
    values: { approved: 'by hand' },
    asNode: 'approve',
  });
  expect(written.configurable).toMatchObject({ thread_id, checkpoint_ns: '' });
  expect(await agent.client.threads.getState(thread_id)).toMatchObject({
    values: { draft: 'd', approved: 'by hand' },
    next: ['publish'],
    metadata: { source: 'update' },
  });
  expect((await agent.client.threads.get(thread_id)).status).toBe('interrupted');
  const values = await agent.client.runs.wait(thread_id, 'approval', { input: null });
  expect(values).toEqual({ draft: 'd', approved: 'by hand', published: true });
});

test('a state of a subgraph is read and written at its namespace', async () => {
  const thread_id = await threadOf('outer', { draft: 'd' });
  const { tasks } = await agent.client.threads.getState(thread_id, undefined, { subgraphs: true });
  const { checkpoint } = tasks[0]!.state as {
    checkpoint: { checkpoint_ns: string; checkpoint_id: string; thread_id: string };
  };
  expect(checkpoint.checkpoint_ns).toMatch(/^inner:/);
  await agent.client.threads.updateState(thread_id, {
    values: { draft: 'better' },
    checkpoint,
  } as never);
  const after = await agent.client.threads.getState(thread_id, undefined, { subgraphs: true });
  expect(after.tasks[0]!.state).toMatchObject({ values: { draft: 'better' } });
});

test('a write that the graph does not take is refused, and names the fault', async () => {
  const thread_id = await threadOf('approval', { draft: 'd' });
  await expect(
    agent.client.threads.updateState(thread_id, { values: { approved: 1 }, asNode: 'nobody' }),
  ).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('nobody') as string,
  });
});

test('a history of states is written at once', async () => {
  const { thread_id } = await agent.client.threads.create({
    graphId: 'approval',
    supersteps: [
      { updates: [{ values: { draft: 'd' }, asNode: '__input__' }] },
      { updates: [{ values: { draft: 'd' }, asNode: '__start__' }] },
      { updates: [{ values: { approved: 'earlier' }, asNode: 'approve' }] },
    ],
  });
  expect(await agent.client.threads.getState(thread_id)).toMatchObject({
    values: { draft: 'd', approved: 'earlier' },
    next: ['publish'],
  });
});

test('a command goes to a node, and one to a node that does not exist is refused', async () => {
  const { thread_id } = await agent.client.threads.create();
  const values = await agent.client.runs.wait(thread_id, 'approval', {
    command: { goto: 'publish', update: { approved: true } },
  });
  expect(values).toMatchObject({ approved: true, published: true });
  await expect(
    agent.client.runs.wait(thread_id, 'approval', { command: { goto: 'nowhere' } }),
  ).rejects.toMatchObject({ status: 422 });
});

test('values that JSON does not have are shown in its forms, and stay in the state', async () => {
  const thread_id = await threadOf('odd', {});
  const value = {
    set: [1],
    bytes: 'YWI=',
    decimal: 1.5,
    moment: '2026-01-02T03:04:05+00:00',
    nan: null,
  };
  const { values } = await agent.client.threads.getState<Values>(thread_id);
  expect(values['value']).toMatchObject({ ...value, 7: 'seven', pair: [1, 2] });
});

test('a class comes back as such, also where the state does not name it', async () => {
  const thread_id = await threadOf('typed', {});
  const values = await agent.client.runs.wait(thread_id, 'typed', { input: {} });
  expect(values).toMatchObject({ profile: { name: 'p' }, kinds: ['Typed', 'Profile', 'Unnamed'] });
});

test('a thread that a graph in another language wrote is refused with a sentence', async () => {
  const thread_id = await threadOf('echo', { question: 'q' });
  await database.sql(
    `update gx.checkpoint_blobs set type = 'json', blob = '"x"' where thread_id = $1`,
    [thread_id],
  );
  await expect(agent.client.threads.getState(thread_id)).rejects.toMatchObject({
    status: 409,
    message: expect.stringContaining('another language') as string,
  });
});

test('a field of a class without a schema costs the other fields none', async () => {
  const [assistant] = await agent.client.assistants.search({ graphId: 'connected' });
  const { input_schema, output_schema } = await agent.client.assistants.getSchemas(
    assistant!.assistant_id,
  );
  expect(input_schema).toMatchObject({
    type: 'object',
    properties: { client: {}, city: { type: 'string' } },
  });
  expect(output_schema).toMatchObject({ properties: { city: { type: 'string' } } });
});

test('graphs are described: schemas, drawing, subgraphs', async () => {
  const [assistant] = await agent.client.assistants.search({ graphId: 'contextual' });
  const { context_schema, state_schema } = await agent.client.assistants.getSchemas(
    assistant!.assistant_id,
  );
  expect(context_schema).toMatchObject({ properties: { flavour: { type: 'string' } } });
  expect(state_schema).toMatchObject({ properties: { given: {}, made: {} } });
  const [outer] = await agent.client.assistants.search({ graphId: 'outer' });
  const { nodes } = await agent.client.assistants.getGraph(outer!.assistant_id, { xray: true });
  expect(nodes.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['__start__', 'inner:approve', 'inner:publish']) as string[],
  );
  const subgraphs = await agent.client.assistants.getSubgraphs(outer!.assistant_id);
  expect(subgraphs['inner']).toMatchObject({ state_schema: { properties: { draft: {} } } });
});
