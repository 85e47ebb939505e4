import { mkdtempSync, existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startPython } from './agent.ts';

/* A node that blocks its event loop: what it does to other runs, with one loop for all and with a loop for each. */

const folder = mkdtempSync(path.join(tmpdir(), 'gx-loops-'));
let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
});
afterEach(() => agent.kill('SIGKILL'));
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

const HELD = 5;
type Run = { thread_id: string; run_id: string };
const statusOf = async ({ thread_id, run_id }: Run): Promise<string> =>
  (await agent.client.runs.get(thread_id, run_id)).status;

async function begin(graph: string, input: Record<string, unknown>): Promise<Run> {
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, graph, {
    input,
    config: { recursion_limit: 1000 },
  });
  return { thread_id, run_id };
}

/** Starts a run that holds its loop, and returns once it does. */
async function holding(note: string, seconds = HELD): Promise<Run> {
  const run = await begin('holds', { note: path.join(folder, note), seconds });
  await until('it holds its loop', () => existsSync(path.join(folder, note)));
  return run;
}

/** Returns how many seconds a run beside it takes. */
async function secondsBeside(graph: string, input: Record<string, unknown>): Promise<number> {
  const at = performance.now();
  await agent.client.runs.wait(null, graph, { input });
  return (performance.now() - at) / 1000;
}

test('stalls all runs where they share one', async () => {
  agent = await startPython(database.uri, {}, 'ends/gx.json');
  await holding('shared');
  expect(await secondsBeside('echo', { question: 'x' })).toBeGreaterThan(HELD / 2);
});

test('stalls no later run where there may be another process', async () => {
  agent = await startPython(database.uri, { GX_PYTHON_PROCESSES: '2' }, 'ends/gx.json');
  const held = await holding('two processes', 150);
  // Until the process counts as stuck, it is still given runs.
  await until('a later run is done', async () => {
    const later = await begin('echo', { question: 'x' });
    await pause(1000);
    return (await statusOf(later)) === 'success';
  });
  expect(await statusOf(held)).toBe('running');
});

test('stalls no other run where each has its own, and all threads of nodes are shared', async () => {
  agent = await startPython(
    database.uri,
    { BG_JOB_ISOLATED_LOOPS: 'true', N_JOBS_PER_WORKER: '4' },
    'ends/gx.json',
  );
  const held = await Promise.all([holding('one'), holding('two')]);
  expect(await secondsBeside('echo', { question: 'x' })).toBeLessThan(HELD / 2);
  expect(await secondsBeside('counter', { to: 3 })).toBeLessThan(HELD / 2);
  expect(await Promise.all(held.map(statusOf))).toEqual(['running', 'running']);
  await until('they end', async () =>
    (await Promise.all(held.map(statusOf))).every((status) => status === 'success'),
  );
  const values = await Promise.all(
    Array.from(
      { length: 8 },
      () =>
        agent.client.runs.wait(null, 'where', { input: {} }) as Promise<{
          loop: string;
          node: string;
        }>,
    ),
  );
  // Four loops at the most; nodes that are plain functions run in the threads of one executor.
  const loops = new Set(values.map(({ loop }) => loop));
  expect(loops.size).toBeGreaterThan(1);
  for (const loop of loops) expect(loop).toMatch(/^gx-run-[0-3]$/);
  for (const { node } of values) expect(node).toMatch(/^gx-node_\d+$/);
});

test('can be cancelled where it awaits, and counts as stuck where it does not', async () => {
  agent = await startPython(database.uri, { BG_JOB_ISOLATED_LOOPS: 'true' }, 'ends/gx.json');
  const waiting = await begin('waits', { note: path.join(folder, 'waiting') });
  await until('it waits', () => existsSync(path.join(folder, 'waiting')));
  await agent.client.runs.cancel(waiting.thread_id, waiting.run_id, true);
  expect(await statusOf(waiting)).toBe('interrupted');
  const held = await holding('stuck');
  const neighbour = await begin('counter', { to: 30, pause: 0.1 });
  await agent.client.runs.cancel(held.thread_id, held.run_id, true);
  expect(await statusOf(held)).toBe('interrupted');
  await until(
    'its neighbour goes on elsewhere',
    async () => (await statusOf(neighbour)) === 'success',
  );
  expect((await agent.client.threads.getState(neighbour.thread_id)).values).toMatchObject({
    done: 30,
  });
});
