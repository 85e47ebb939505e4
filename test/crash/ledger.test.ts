import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { untilLocksCount } from '../kit/locks-count.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { api as startApi, Fleet, say } from './fleet.ts';

/* Workers are killed with SIGKILL while their runs ask models. What does the ledger of the calls lack? */

const KILLS = Number(process.env.GX_CRASH_KILLS ?? 10);
const RUNS_PER_KILL = 10;
const CALLS_PER_RUN = 3;
const WORKERS = 2;
const PAUSE = 150;

let database: TestDatabase;
let api: AgentProcess;
let fleet: Fleet;
const file = path.join(mkdtempSync(path.join(tmpdir(), 'gx-ledger-')), 'answers');

beforeAll(async () => {
  database = await freshDatabase();
  const options = { database: database.uri, env: { GX_USAGE: 'true' } };
  api = await startApi(options);
  fleet = new Fleet(options);
  await fleet.start(WORKERS);
  await untilLocksCount(database);
});
afterAll(async () => {
  await fleet.stop();
  await api.kill();
  await database.drop();
});

async function createRun(): Promise<void> {
  const { thread_id } = await api.client.threads.create();
  const input = { left: CALLS_PER_RUN, pause: PAUSE, file };
  await api.client.runs.create(thread_id, 'asking', { input });
}

/** Returns how many answers of models each run has got, by the word of the models. */
function countAnswers(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const run of readFileSync(file, 'utf8').trim().split('\n'))
    counts.set(run, (counts.get(run) ?? 0) + 1);
  return counts;
}

test(`the ledger of ${KILLS * RUNS_PER_KILL} runs lacks at most as many calls as workers were killed, and has none twice`, async () => {
  for (let kill = 0; kill < KILLS; kill += 1) {
    await Promise.all(Array.from({ length: RUNS_PER_KILL }, createRun));
    await wait(PAUSE + Math.random() * 2 * PAUSE);
    await fleet.kill(fleet.pids[kill % WORKERS]!);
    await fleet.complete(0);
  }
  const unfinished = `select 1 from gx.run where status in ('pending', 'running')`;
  await until('all runs are over', async () => (await database.sql(unfinished)).length === 0, 120);
  const rows = await database.sql<{ run_id: string; status: string; calls: number; sum: number }>(
    `select r.run_id, r.status, coalesce((r.usage->>'calls')::int, 0) as sum,
      (select count(*)::int from gx.model_call c where c.run_id = r.run_id) as calls from gx.run r`,
  );
  expect(rows).toHaveLength(KILLS * RUNS_PER_KILL);
  expect(rows.filter(({ status }) => status !== 'success')).toEqual([]);
  // The sums that a run carries are those of its rows.
  expect(rows.filter(({ calls, sum }) => calls !== sum)).toEqual([]);
  const answers = countAnswers();
  const missing = rows.map(({ run_id, calls }) => (answers.get(run_id) ?? 0) - calls);
  const lacked = missing.reduce((sum, count) => sum + Math.max(0, count), 0);
  const asked = [...answers.values()].reduce((sum, count) => sum + count, 0);
  say(
    `${asked} answers, ${fleet.killed.size} workers killed: ${lacked} calls are not in the ledger`,
  );
  // One that is there has answered: none is counted twice.
  expect(missing.filter((count) => count < 0)).toEqual([]);
  expect(lacked).toBeLessThanOrEqual(KILLS);
  expect(asked).toBeGreaterThanOrEqual(KILLS * RUNS_PER_KILL * CALLS_PER_RUN);
}, 1_200_000);
