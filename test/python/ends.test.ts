import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openRecord, type Recorded } from '../agent/wire/stopping/record.ts';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startPython } from './agent.ts';

/* Stops of Python runs, and processes that take too much: how soon they end, and what becomes of their neighbours. */

const folder = mkdtempSync(path.join(tmpdir(), 'gx-ends-'));
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

/** Milliseconds in which a server is ready on a machine without other work, or a little more. */
const START = 4000;
/** How much longer than there the last start took. */
let slower = 1;

const start = async (env: Record<string, string> = {}): Promise<void> => {
  const began = Date.now();
  agent = await startPython(database.uri, env, 'ends/gx.json');
  slower = Math.max(1, (Date.now() - began) / START);
};

type Started = { thread_id: string; run_id: string; note: string };

let notes = 0;
async function begin(graph: string, input: Record<string, unknown> = {}): Promise<Started> {
  notes += 1;
  const note = path.join(folder, `note-${notes}`);
  const { thread_id } = await agent.client.threads.create();
  const config = { recursion_limit: 10_000 };
  const { run_id } = await agent.client.runs.create(thread_id, graph, {
    input: { note, ...input },
    config,
  });
  return { thread_id, run_id, note };
}

/** Returns the times at which the node noted something. */
function timesIn(note: string): number[] {
  try {
    return readFileSync(note, 'utf8').split('\n').slice(0, -1).map(Number);
  } catch {
    return [];
  }
}
const begun = async (graph: string, input: Record<string, unknown> = {}): Promise<Started> => {
  const started = await begin(graph, input);
  await until('its node is under way', () => timesIn(started.note).length > 0);
  return started;
};
const statusOf = async (run: string): Promise<{ status: string; lost: number }> =>
  (
    await database.sql<{ status: string; lost: number }>(
      'select status, lost from gx.run where run_id = $1',
      [run],
    )
  )[0]!;

/** Starts runs that count until the record is open, and returns once all of them have stored some steps. */
async function counting(record: Recorded): Promise<string[]> {
  const input = { journal: record.journal, gate: record.gate };
  const runs = await Promise.all(Array.from({ length: 3 }, () => begin('counting', input)));
  const ids = runs.map(({ run_id }) => run_id);
  await until('all count', () => ids.every((id) => record.of(id).length > 2));
  return ids;
}

/**
 * Cancels a run whose node ticks every 50 ms, or less often on a machine with other work. Returns how many ticks came
 * between the cancel and its end.
 */
async function ticksUntilStopped(asks: AgentProcess): Promise<number> {
  const { thread_id, run_id, note } = await begun('ticks', { seconds: 0.05 * slower });
  await until('it ticks', () => timesIn(note).length > 2);
  const asked = Date.now();
  await asks.client.runs.cancel(thread_id, run_id, true);
  expect((await statusOf(run_id)).status).toBe('interrupted');
  const times = timesIn(note);
  // The last one is the end.
  return times.slice(0, -1).filter((at) => at > asked).length;
}

test('a cancel reaches a node that awaits before its second tick, whichever process is asked', async () => {
  await start();
  const answers = await startPython(database.uri, { N_JOBS_PER_WORKER: '0' }, 'ends/gx.json');
  try {
    for (const asks of [agent, answers]) {
      const ticks: number[] = [];
      for (let count = 0; count < 7; count += 1) ticks.push(await ticksUntilStopped(asks));
      ticks.sort((a, b) => a - b);
      // Only the database is slower at times. A second look at it, or a timer, would show in half of them.
      expect(ticks[3]).toBeLessThanOrEqual(1);
    }
  } finally {
    await answers.kill('SIGKILL');
  }
});

test('a cancel that comes before the first step of a run ends that run alone', async () => {
  await start();
  // Shorter than the time that a graph has to obey.
  const held = await begun('holds', { seconds: 1.2 });
  const { thread_id, run_id } = await begin('waits');
  await agent.client.runs.cancel(thread_id, run_id, true);
  expect((await statusOf(run_id)).status).toBe('interrupted');
  await until(
    'the other one is done',
    async () => (await statusOf(held.run_id)).status === 'success',
  );
  expect(agent.output()).not.toContain('ending the thread of a graph');
});

test.each(['busy', 'holds'])(
  'a loop that is held (%s) ends with its process, and its neighbours go on',
  async (graph) => {
    await start();
    const record = openRecord();
    const neighbours = await counting(record);
    const { thread_id, run_id } = await begun(graph, { seconds: 60 });
    const asked = Date.now();
    await agent.client.runs.cancel(thread_id, run_id, true);
    const ended = Date.now();
    expect((await statusOf(run_id)).status).toBe('interrupted');
    const moved = (id: string): boolean =>
      new Set(record.of(id).map(({ runner }) => runner)).size === 2;
    await until('all neighbours go on', () => neighbours.every(moved));
    const late = neighbours.map((id) => {
      const lines = record.of(id);
      const at = lines.findIndex(({ runner }) => runner !== lines[0]!.runner);
      // Only the step that was cut off is done again.
      expect([lines[at - 1]!.step, lines[at - 1]!.step! + 1]).toContain(lines[at]!.step);
      return lines[at]!.at - ended;
    });
    // The graph has two seconds to obey, and a loop that nobody ends holds its process for a minute. The machine may do
    // other work meanwhile; test/crash/python-runners.test.ts measures how soon it is on average.
    expect(ended - asked).toBeLessThan(10_000 * slower);
    expect(Math.max(...late)).toBeLessThan(6000 * slower);
    const held = record.of(neighbours[0]!)[0]!.runner!;
    await until('the machine knows its process no more', () => !existsSync(`/proc/${held}`));
    record.open();
    await until('they end', async () =>
      (await Promise.all(neighbours.map(statusOf))).every(({ status }) => status === 'success'),
    );
    record.remove();
  },
);

test('runs of a process that is killed from outside go on together, and lose no life', async () => {
  await start();
  const record = openRecord();
  const runs = await counting(record);
  const killed = record.of(runs[0]!)[0]!.runner!;
  const asked = Date.now();
  process.kill(killed, 'SIGKILL');
  await until('all go on', () => runs.every((id) => record.of(id).at(-1)!.runner !== killed));
  const late = runs.map((id) => record.of(id).find(({ runner }) => runner !== killed)!.at - asked);
  // A process takes a second or two to start.
  expect(Math.max(...late)).toBeLessThan(6000 * slower);
  record.open();
  await until('they end', async () =>
    (await Promise.all(runs.map(statusOf))).every(({ status }) => status === 'success'),
  );
  expect((await Promise.all(runs.map(statusOf))).map(({ lost }) => lost)).toEqual([0, 0, 0]);
  record.remove();
});

test('a process that takes more memory than it may is ended, which costs its neighbours none of their lives', async () => {
  await start({ GX_PYTHON_MEMORY_MB: '300', BG_JOB_MAX_RETRIES: '2' });
  const neighbours = await Promise.all(
    Array.from({ length: 2 }, () => begin('counter', { to: 15, pause: 0.1 })),
  );
  const eater = await begin('eats');
  await until('it is given up', async () => (await statusOf(eater.run_id)).status === 'error', 150);
  const result = await agent.client.runs.join(eater.thread_id, eater.run_id);
  expect(result).toMatchObject({
    __error__: {
      error: 'WorkerLost',
      message: expect.stringMatching(/failed after 2 attempts/) as string,
    },
  });
  const done = async (): Promise<false | { lost: number }[]> => {
    const found = await Promise.all(neighbours.map(({ run_id }) => statusOf(run_id)));
    return found.every(({ status }) => status === 'success') && found;
  };
  // Each goes on alone, one behind the other.
  const rows = await until('the neighbours are done', done, 150);
  expect(rows.map(({ lost }) => lost)).toEqual([0, 0]);
  for (const { thread_id } of neighbours)
    expect((await agent.client.threads.getState(thread_id)).values).toMatchObject({ done: 15 });
  await expect
    .poll(() => agent.output())
    .toMatch(
      /The runner took \d+ MB of memory, and may take 300: it is ended\. GX_PYTHON_MEMORY_MB allows more\./,
    );
  expect(await agent.client.runs.wait(null, 'echo', { input: { question: 'x' } })).toMatchObject({
    answer: 'echo: x',
  });
});
