import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { untilLocksCount } from '../kit/locks-count.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { api as startApi, Fleet, say } from './fleet.ts';
import { byRun, movesOf, openJournal, quantile, seconds, type Line, type Move } from './journal.ts';
import { callWitness, livesOf, type Life } from './lives.ts';
import { PythonKills, WAYS, type Death, type Harmful, type Way } from './python-kills.ts';
import { callStepWitness, storedSteps, type StoredStep } from './stored-steps.ts';

/*
 * Graphs in Python lose their processes in five ways, and the servers of these processes with them or not. What becomes
 * of the runs?
 */

const KILLS = Number(process.env.GX_CRASH_KILLS ?? 100);
const RUNS_PER_KILL = 8;
const WORKERS = 3;
const STEPS = 6;
const PAUSE = 300;
/** A runner of this graph takes 85. */
const MEGABYTES = 250;

/**
 * Returns the milliseconds between the signal and the last write of a killed process: half a second, or on a busy
 * machine a tenth of the time that it takes to start a server.
 */
const dying = (): number => Math.max(500, quantile(fleet.starts, 0.5) / 10);

let database: TestDatabase;
let api: AgentProcess;
let fleet: Fleet;
let kills: PythonKills;
const journal = openJournal();

type Begun = { thread_id: string; run_id: string };

/** Creates a run on a thread of its own. Every second one stores a checkpoint before each step. */
async function create(number: number, more: object = {}): Promise<Begun> {
  const { thread_id } = await api.client.threads.create();
  const run = await api.client.runs.create(thread_id, 'counted', {
    input: { left: STEPS, pause: PAUSE, journal: journal.file, ...more },
    streamResumable: number % 3 === 0,
    durability: number % 2 === 0 ? 'sync' : 'async',
  });
  return { thread_id, run_id: run.run_id };
}

const created = new Set<string>();
let harms = 0;

async function start(harm: 'holds' | 'eats'): Promise<Harmful> {
  harms += 1;
  const mark = join(dirname(journal.file), `harm-${harms}`);
  const run = await create(harms, { harm, mark });
  created.add(run.run_id);
  return { ...run, mark };
}

beforeAll(async () => {
  database = await freshDatabase();
  await callWitness(database);
  await callStepWitness(database);
  const env = {
    GX_RESUMABLE_STREAM_TTL_SECONDS: '5',
    // A run that was found by its lease alone would never go on.
    GX_JOB_LEASE_SECS: '3600',
    GX_PYTHON: `${inject('python')}/python`,
    GX_PYTHON_MEMORY_MB: String(MEGABYTES),
  };
  const options = { database: database.uri, config: 'test/crash/graphs/python.json', env };
  api = await startApi(options);
  fleet = new Fleet(options);
  await fleet.start(WORKERS);
  await untilLocksCount(database);
  const cancel = ({ thread_id, run_id }: Begun): Promise<void> =>
    api.client.runs.cancel(thread_id, run_id, true);
  kills = new PythonKills({ fleet, journal, pause: PAUSE, start, cancel });
});

afterAll(async () => {
  await fleet.stop();
  await api.kill();
  await database.drop();
});

type Row = {
  run_id: string;
  status: string;
  error: { message: string } | null;
  ended: number;
  durability: string;
};

const rows = (): Promise<Row[]> =>
  database.sql<Row>(`select run_id, status, error, extract(epoch from ended_at)::float8 * 1000 as ended,
    kwargs->>'durability' as durability from gx.run`);

let runs: Row[];
let lines: Map<string, Line[]>;
let moves: Move[];
let lives: Map<string, Life[]>;
let stored: Map<string, StoredStep[]>;

test(`runs come to an end while ${KILLS} runners and workers die under them`, async () => {
  for (let kill = 0; kill < KILLS; kill += 1) {
    const numbers = Array.from({ length: RUNS_PER_KILL }, (_, at) => kill * RUNS_PER_KILL + at);
    for (const { run_id } of await Promise.all(numbers.map((number) => create(number))))
      created.add(run_id);
    await wait(Math.random() * 2 * PAUSE);
    await kills.kill(WAYS[kill % WAYS.length]!);
    await fleet.complete();
  }
  const unfinished = `select 1 from gx.run where status in ('pending', 'running')`;
  await until('all runs are over', async () => (await database.sql(unfinished)).length === 0, 240);
  runs = await rows();
  lines = byRun(journal.lines());
  moves = [...lines.values()].flatMap(movesOf);
  lives = await livesOf(database);
  stored = await storedSteps(database);
  const ends = Object.entries(Object.groupBy(runs, ({ status }) => status)).map(
    ([status, some]) => `${some?.length} ${status}`,
  );
  const ways = Map.groupBy(kills.deaths.values(), ({ way }) => way);
  say(
    `${runs.length} runs: ${ends.join(', ')}; ${moves.length} times a run went on in another process`,
  );
  say(`runners that died: ${[...ways].map(([way, some]) => `${some.length} (${way})`).join(', ')}`);
  expect(new Set(runs.map(({ run_id }) => run_id))).toEqual(created);
}, 1_800_000);

test('each has its result after every step, unless it was cancelled, or died with its process three times', () => {
  const deaths = new Map(
    runs.map(({ run_id }) => [
      run_id,
      lives.get(run_id)!.filter(({ how }) => how === 'lost').length,
    ]),
  );
  const counts = [0, 1, 2, 3].map(
    (times) => [...deaths.values()].filter((own) => own === times).length,
  );
  say(`lost a life: ${counts.map((some, times) => `${some} runs ${times} times`).join(', ')}`);
  for (const { run_id, status, error } of runs) {
    const lost = /^error: The run failed after 3 attempts: each time its worker died/;
    const end = kills.cancelled.has(run_id)
      ? /^interrupted$/
      : deaths.get(run_id)! < 3
        ? /^success$/
        : lost;
    expect(`${status}${error === null ? '' : `: ${error.message}`}`).toMatch(end);
    if (status !== 'success') continue;
    expect(new Set(lines.get(run_id)?.map(({ left }) => left))).toEqual(
      new Set(Array.from({ length: STEPS }, (_, at) => at + 1)),
    );
  }
  expect(Math.max(...deaths.values())).toBeLessThanOrEqual(3);
});

test('none was executed again after its end, and no process goes on that is dead', () => {
  for (const { run_id, ended } of runs)
    expect(lines.get(run_id)?.at(-1)?.at ?? 0).toBeLessThanOrEqual(ended);
  const written = journal
    .lines()
    .map(({ runner, at }) => at - (kills.deaths.get(runner!)?.at ?? Infinity));
  say(
    `the last step of a process that was killed began at most ${Math.max(...written)} ms after its kill`,
  );
  expect(Math.max(...written)).toBeLessThan(dying());
  expect(kills.leftBehind()).toEqual([]);
});

test('each went on from its last checkpoint: at most the step under way was done twice', () => {
  const durability = new Map(runs.map((run) => [run.run_id, run.durability]));
  const repeated = moves.map(({ run, from, to }) => ({
    durability: durability.get(run),
    steps: to.left - from.left + 1,
  }));
  for (const kind of ['sync', 'async']) {
    const steps = repeated.filter((one) => one.durability === kind).map((one) => one.steps);
    say(
      `durability ${kind}: ${steps.filter((one) => one > 0).length} of ${steps.length} times the step under way was done again`,
    );
    expect(Math.min(0, ...steps)).toBe(0);
    // Asynchronous checkpoints may still be on their way when later steps begin.
    expect(Math.max(0, ...steps)).toBeLessThanOrEqual(kind === 'sync' ? 1 : STEPS - 1);
  }
});

test('no checkpoint was written by the dead: each stands behind the one before, and within the life of its attempt', () => {
  for (const { run_id, status } of runs) {
    const own = stored.get(run_id) ?? [];
    // A second checkpoint of a step, or one behind an older one, would be that of an attempt that had lost its run.
    expect(own.map(({ step }) => step)).toEqual(own.map((_, at) => at - 1));
    expect(own.map(({ parent }) => parent)).toEqual(
      [null, ...own.slice(0, -1).map(({ id }) => id)].slice(0, own.length),
    );
    expect(own.map(({ attempt }) => attempt)).toEqual(
      own.map(({ attempt }) => attempt).toSorted((a, b) => a - b),
    );
    expect(own.length === STEPS + 2 || status !== 'success').toBe(true);
    const ends = new Map(lives.get(run_id)!.map(({ attempt, ended }) => [attempt, ended!]));
    for (const { attempt, at } of own) expect(at).toBeLessThan(ends.get(attempt)!);
  }
});

const diedBy = (...ways: Way[]): [number, Death][] =>
  [...kills.deaths].filter(([, { way }]) => ways.includes(way));

/**
 * Returns the milliseconds in which runs go on: three seconds, or on a busy machine the time that it takes to start a
 * server, half as much again. Often no other runner is alive, and the next one's start is a part of a server's.
 */
const soon = (): number => Math.max(3000, 1.5 * quantile(fleet.starts, 0.5));

/** Returns how long after the end of their process runs went on in another one. */
function waits(...ways: Way[]): number[] {
  const deaths = new Map(diedBy(...ways));
  return moves.flatMap(({ from, to }) => {
    const death = deaths.get(from.runner!);
    // A run that died again before its first step has waited for two processes.
    return death === undefined || to.attempt !== from.attempt + 1
      ? []
      : [to.at - death.at - (death.took ?? 0)];
  });
}

test('a loop that is held in C ends with its process soon after the cancel, and runs go on within seconds', () => {
  const took = diedBy('holds').map(([, death]) => death.took!);
  if (took.length > 0)
    say(`the process of a loop held in C was gone after the cancel: ${seconds(took)}`);
  // The graph has two seconds to obey.
  expect(quantile(took, 0.5)).toBeLessThanOrEqual(2500);
  say(`servers took to start: ${seconds(fleet.starts)}`);
  for (const [what, ...ways] of [
    ['a runner that was killed', 'runner'],
    ['a worker that was killed', 'worker', 'holds, and its worker dies'],
    ['a loop that was held in C', 'holds'],
    ['a runner that took too much memory', 'eats'],
  ] as const) {
    const waited = waits(...ways);
    say(`runs of ${what} went on after: ${seconds(waited)}`);
    expect(quantile(waited, 0.5)).toBeLessThanOrEqual(soon());
  }
});

test('no job and no event is left behind', async () => {
  const counts = `select (select count(*)::int from pgboss.job) as jobs, (select count(*)::int from gx.stream_event) as events`;
  const after = await until(
    'both tables are empty',
    async () => {
      const [row] = await database.sql<{ jobs: number; events: number }>(counts);
      return row?.jobs === 0 && row.events === 0 && row;
    },
    240,
  );
  expect(after).toEqual({ jobs: 0, events: 0 });
}, 300_000);
