import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* One process answers requests, others execute runs, as in a cluster. */

let database: Awaited<ReturnType<typeof freshDatabase>>;
let api: AgentProcess;
let folder: string;

const worker = (env: Record<string, string> = {}) =>
  startAgent({
    database: database.uri,
    env: { N_JOBS_PER_WORKER: '4', GX_JOB_LEASE_SECS: '6', ...env },
  });
const journal = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gx-journal-'));
  database = await freshDatabase();
  api = await startAgent({ database: database.uri, env: { N_JOBS_PER_WORKER: '0' } });
});

afterAll(async () => {
  await api.kill();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

test('a run created in the api process is executed in the queue process, and its stream comes back', async () => {
  const queue = await worker();
  const thread = await api.client.threads.create();
  const events = await Array.fromAsync(
    api.client.runs.stream(thread.thread_id, 'steps', {
      input: { left: 3, pause: 20 },
      streamMode: ['custom', 'values'],
    }),
  );
  expect(events.filter(({ event }) => event === 'custom').map(({ data }) => data)).toEqual([
    { left: 3 },
    { left: 2 },
    { left: 1 },
  ]);
  expect(events.at(-1)).toMatchObject({ event: 'values', data: { done: 3, left: 0 } });
  expect(await queue.kill()).toBe(0);
});

test('a run whose worker is killed continues from its last checkpoint on another', async () => {
  const file = join(folder, 'killed');
  const first = await worker();
  const thread = await api.client.threads.create();
  const run = await api.client.runs.create(thread.thread_id, 'steps', {
    input: { left: 8, pause: 250, journal: file },
    durability: 'sync',
  });
  await until('some steps are done', () => journal(file).length >= 3, 60);
  await first.kill('SIGKILL');
  const second = await worker();
  const state = await api.client.runs.join(thread.thread_id, run.run_id);
  expect(state).toMatchObject({ done: 8, left: 0 });
  const steps = journal(file);
  // Only the step that was under way when the worker died may appear there twice.
  expect(steps.length).toBeLessThanOrEqual(9);
  expect(new Set(steps)).toEqual(new Set(['8', '7', '6', '5', '4', '3', '2', '1']));
  expect(await second.kill()).toBe(0);
}, 180_000);

test('SIGTERM hands a run that outlasts the grace back to another worker', async () => {
  const file = join(folder, 'handed-back');
  const first = await worker({ BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: '1' });
  const thread = await api.client.threads.create();
  const run = await api.client.runs.create(thread.thread_id, 'steps', {
    input: { left: 12, pause: 250, journal: file },
  });
  await until('some steps are done', () => journal(file).length >= 2, 60);
  expect(await first.kill('SIGTERM')).toBe(0);
  const second = await worker();
  expect(await api.client.runs.join(thread.thread_id, run.run_id)).toMatchObject({ done: 12 });
  expect(await second.kill()).toBe(0);
}, 180_000);

test('a graph that never yields stops neither /ok nor other runs', async () => {
  const queue = await worker({ BG_JOB_TIMEOUT_SECS: '15' });
  const thread = await api.client.threads.create();
  const spinning = await api.client.runs.create(thread.thread_id, 'broken', {
    input: { how: 'spin' },
  });
  expect((await fetch(`${queue.url}/ok`)).status).toBe(200);
  const run = await until(
    'the run is ended',
    async () => {
      const answer = await api.client.runs.get(thread.thread_id, spinning.run_id);
      return answer.status !== 'running' && answer.status !== 'pending' && answer;
    },
    120,
  );
  expect(run.status).toBe('error');
  const after = await api.client.threads.create();
  expect(
    await api.client.runs.wait(after.thread_id, 'chat', {
      input: { messages: [{ role: 'human', content: 'still there?' }] },
    }),
  ).toBeDefined();
  await queue.kill();
}, 180_000);
