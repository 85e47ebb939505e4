import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { api as startApi, pidOf, say, worker as startWorker } from './fleet.ts';
import { movesOf, openJournal, type Line } from './journal.ts';
import { callWitness, livesOf } from './lives.ts';

/* Runs that last much longer than a lease, with workers that stay, and with workers that are replaced one by one. */

const LEASE = 2;
const GRACE = 4;
const PAUSE = 300;

let database: TestDatabase;
let api: AgentProcess;
const journal = openJournal();

const env = { GX_JOB_LEASE_SECS: String(LEASE), GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS: String(GRACE) };
const start = (): Promise<AgentProcess> => startWorker({ database: database.uri, env });

beforeAll(async () => {
  database = await freshDatabase();
  await callWitness(database);
  api = await startApi({ database: database.uri, env });
});

afterAll(async () => {
  await api.kill();
  await database.drop();
});

type Begun = { thread_id: string; run_id: string };

async function begin(left: number): Promise<Begun> {
  const { thread_id } = await api.client.threads.create();
  const input = { journal: journal.file, left, pause: PAUSE };
  const { run_id } = await api.client.runs.create(thread_id, 'counted', {
    input,
    config: { recursion_limit: left + 5 },
  });
  return { thread_id, run_id };
}

const countdown = (left: number): number[] => Array.from({ length: left }, (_, at) => left - at);
const leftOf = (lines: Line[]): number[] => lines.map(({ left }) => left);

test('a run that lasts thirty leases is executed once, though every worker may take up what is lost', async () => {
  const workers = await Promise.all([start(), start()]);
  const left = Math.ceil((30 * LEASE * 1000) / PAUSE);
  const began = Date.now();
  const run = await begin(left);
  await api.client.runs.join(run.thread_id, run.run_id);
  const leases = (Date.now() - began) / 1000 / LEASE;
  expect(leases).toBeGreaterThan(30);
  expect(leftOf(journal.of(run.run_id))).toEqual(countdown(left));
  expect((await livesOf(database)).get(run.run_id)).toMatchObject([
    { attempt: 1, how: 'finished' },
  ]);
  say(`a run of ${left} steps lasted ${leases.toFixed(1)} leases: each step once, by one worker`);
  await Promise.all(workers.map((one) => one.kill('SIGKILL')));
}, 180_000);

test('a rolling stop hands long runs from worker to worker, and no step is executed twice', async () => {
  const RUNS = 8;
  const LEFT = 150;
  let present = await start();
  const runs = await Promise.all(Array.from({ length: RUNS }, () => begin(LEFT)));
  await until('all are at work', () => runs.every(({ run_id }) => journal.of(run_id).length > 0));
  for (let stop = 0; stop < 2; stop += 1) {
    const next = await start();
    expect(await present.kill('SIGTERM')).toBe(0);
    await until('all are at work there', () =>
      runs.every(({ run_id }) => journal.of(run_id).at(-1)!.pid === pidOf(next)),
    );
    present = next;
  }
  await Promise.all(runs.map(({ thread_id, run_id }) => api.client.runs.join(thread_id, run_id)));
  const lives = await livesOf(database);
  const moves = runs.flatMap(({ run_id }) => {
    const lines = journal.of(run_id);
    expect(leftOf(lines)).toEqual(countdown(LEFT));
    expect(lives.get(run_id)!.map(({ how }) => how)).toEqual([
      'handed back',
      'handed back',
      'finished',
    ]);
    return movesOf(lines);
  });
  expect(moves).toHaveLength(2 * RUNS);
  // A run that waited for the end of a lease would have been still for longer.
  const still = moves.map(({ from, to }) => to.at - from.at - PAUSE);
  expect(Math.max(...still)).toBeLessThan(LEASE * 1000);
  say(
    `${RUNS} runs of ${LEFT} steps moved twice: each step once; still for at most ${Math.max(...still)} ms`,
  );
  await present.kill('SIGKILL');
}, 180_000);

test('a worker that was suspended until its run went on elsewhere writes nothing when it wakes', async () => {
  const sleeper = await start();
  const run = await begin(40);
  await until('it is at work', () => journal.of(run.run_id).length > 3);
  const other = await start();
  sleeper.process.kill('SIGSTOP');
  const isThere = ({ pid }: Line): boolean => pid === pidOf(other);
  await until('it goes on elsewhere', () => journal.of(run.run_id).filter(isThere).length > 3);
  const woken = Date.now();
  sleeper.process.kill('SIGCONT');
  await api.client.runs.join(run.thread_id, run.run_id);
  const lines = journal.of(run.run_id);
  const there = leftOf(lines.filter(isThere));
  expect(there).toEqual(countdown(there[0]!));
  // The step that was under way ends, and the next one may begin before the end of that could be stored.
  expect(lines.filter((line) => !isThere(line) && line.at > woken).length).toBeLessThanOrEqual(1);
  // A checkpoint of the former worker would stand beside one of the other worker, behind the same one.
  const history = await api.client.threads.getHistory(run.thread_id, { limit: 100 });
  const before = history.map(({ parent_checkpoint: parent }) => parent?.checkpoint_id);
  expect(before.length).toBeGreaterThan(40);
  expect(new Set(before).size).toBe(before.length);
  expect((await livesOf(database)).get(run.run_id)!.map(({ how }) => how)).toEqual([
    'lost',
    'finished',
  ]);
  await Promise.all([sleeper, other].map((one) => one.kill('SIGKILL')));
}, 120_000);
