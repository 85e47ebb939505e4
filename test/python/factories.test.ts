import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';

/* Functions that fail to make a graph, with the place in the user's code. And a state that can't be stored. */

const FILE = path.resolve('test/python/factories/graphs.py');
const folder = mkdtempSync(path.join(tmpdir(), 'gx-factories-'));
let database: TestDatabase;
let agent: AgentProcess;

/** Returns the place of the line that a comment marks. */
const at = (mark: string): string => {
  const line = readFileSync(FILE, 'utf8')
    .split('\n')
    .findIndex((text) => text.endsWith(`# ${mark}`));
  return `${FILE}:${line + 1}`;
};
const options = (names: string[]) => {
  const config = path.join(folder, 'gx.json');
  writeFileSync(
    config,
    JSON.stringify({ graphs: Object.fromEntries(names.map((name) => [name, `${FILE}:${name}`])) }),
  );
  return { database: database.uri, config, env: { GX_PYTHON: `${inject('python')}/python` } };
};

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent(
    options(['graph', 'enters', 'leaves', 'number', 'opens_nothing', 'hangs', 'holds', 'spoils']),
  );
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
  rmSync(folder, { recursive: true });
});

type Ended = { thread_id: string; error: { error: string; message: string } };

/** Runs a graph that fails, on a thread that can be asked about it. */
async function failed(graph: string, input: Record<string, unknown> = {}): Promise<Ended> {
  const { thread_id } = await agent.client.threads.create({ graphId: graph });
  const { run_id } = await agent.client.runs.create(thread_id, graph, { input });
  const result = (await agent.client.runs.join(thread_id, run_id)) as unknown as {
    __error__: Ended['error'];
  };
  return { thread_id, error: result.__error__ };
}

describe('a run fails with one sentence where its function', () => {
  test.each([
    [
      'fails before it has opened a graph',
      'enters',
      () => `its context manager failed on enter at ${at('enters')} (ConnectionError)`,
      'nobody there',
    ],
    [
      'fails while it closes one',
      'leaves',
      () => `its context manager failed on exit at ${at('leaves')} (ConnectionError)`,
      'gone',
    ],
  ])('%s', async (_, graph, place, reason) => {
    const { thread_id, error } = await failed(graph);
    expect(error.message).toBe(`Graph "${graph}": ${place()}: ${reason}`);
    const sentence = `${place()}: ${reason}`;
    await expect(agent.client.threads.getState(thread_id)).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining(sentence) as string,
    });
  });

  test.each([
    ['makes something else', 'number', 'int'],
    ['opens nothing', 'opens_nothing', 'NoneType'],
  ])('%s', async (_, graph, kind) => {
    const { error } = await failed(graph);
    // Python counts a function from its first decorator.
    const file = `Graph "${graph}": its function at ${FILE}:`;
    expect(error.message.startsWith(file)).toBe(true);
    expect(error.message.endsWith(` made a ${kind}, which is not a graph.`)).toBe(true);
  });
});

test('what a run has stored stays when its function fails behind it', async () => {
  const { thread_id } = await failed('leaves');
  const rows = await database.sql(`select 1 from gx.checkpoints where thread_id = $1`, [thread_id]);
  expect(rows.length).toBeGreaterThan(1);
});

test('an error of the graph is told, and not that of the end behind it', async () => {
  expect((await failed('leaves', { fails: true })).error).toEqual({
    error: 'ValueError',
    message: 'The node fails.',
  });
});

test('a function that takes too much keeps the server from starting', async () => {
  const { code, output } = await failedStart(options(['greedy']));
  const sentence = `Graph "greedy": its function at ${at('greedy')} may take a config and a ServerRuntime, and nothing more; it takes one, two, three.`;
  expect([code === 0, output]).toEqual([false, expect.stringContaining(sentence)]);
});

test('a function that never ends is told in the log, and a cancel ends its run', async () => {
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, 'hangs', { input: {} });
  const sentence = `its function at ${at('hangs')} has not made the graph for 10 seconds.`;
  await until('the log tells of it', () => agent.output().includes(sentence), 30);
  const asked = performance.now();
  await agent.client.runs.cancel(thread_id, run_id, true);
  expect(performance.now() - asked).toBeLessThan(1500);
  expect((await agent.client.runs.get(thread_id, run_id)).status).toBe('interrupted');
});

test('one that holds the loop is told with its place, and a cancel ends it with its process', async () => {
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, 'holds', { input: {} });
  await until(
    'the log tells of it',
    () => /graphs\.py:\d+ holds the event loop for more than 1500 ms/.test(agent.output()),
    30,
  );
  await agent.client.runs.cancel(thread_id, run_id, true);
  expect((await agent.client.runs.get(thread_id, run_id)).status).toBe('interrupted');
  expect(await agent.client.runs.wait(null, 'graph', { input: {} })).toEqual({ first: 'stored' });
});

test('a value that can not be stored fails its run with the name of its channel, and what was stored before it stays', async () => {
  const { thread_id, error } = await failed('spoils');
  expect(error.message).toContain('"last"');
  expect(error.message).toContain('Unstorable');
  expect((await agent.client.threads.getState(thread_id)).values).toMatchObject({
    first: 'stored',
  });
});
