import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { until } from '../kit/until.ts';
import { untilLocksCount } from '../kit/locks-count.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { api as startApi, Fleet, say } from './fleet.ts';
import {
  byRun,
  movesOf,
  openJournal,
  quantile,
  seconds,
  stepUnderWay,
  type Line,
  type Move,
} from './journal.ts';
import { callWitness, livesOf, type Life } from './lives.ts';

/* Workers are killed with SIGKILL while they run. What becomes of their runs? */

const KILLS = Number(process.env.GX_CRASH_KILLS ?? 100);
const RUNS_PER_KILL = 10;
const WORKERS = 4;
const STEPS = 6;
const PAUSE = 300;
/**
 * Milliseconds that all but one of a hundred interrupted runs may wait for their next worker. Others look for free
 * locks once a second (1000) and look again after their grace (600), and the run goes through the queue to a graph
 * thread. The rest is for a machine on which a new worker starts at that moment.
 */
const CONTINUES_WITHIN = 3000;

/** Milliseconds between the signal and the last write of a killed process. */
const DYING = 500;

let database: TestDatabase;
let api: AgentProcess;
let fleet: Fleet;
const journal = openJournal();

beforeAll(async () => {
  database = await freshDatabase();
  await callWitness(database);
  const options = { database: database.uri, env: { GX_RESUMABLE_STREAM_TTL_SECONDS: '5' } };
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

/**
 * Creates a run on a thread of its own. Every second one stores a checkpoint before each step, and every third keeps
 * its events for clients that come back.
 */
async function create(number: number): Promise<string> {
  const thread = await api.client.threads.create();
  const run = await api.client.runs.create(thread.thread_id, 'counted', {
    input: { left: STEPS, pause: PAUSE, journal: journal.file },
    streamResumable: number % 3 === 0,
    durability: number % 2 === 0 ? 'sync' : 'async',
  });
  return run.run_id;
}

type Row = {
  run_id: string;
  status: string;
  attempt: number;
  error: { message: string } | null;
  ended: number;
  durability: string;
};

const rows = (): Promise<Row[]> =>
  database.sql<Row>(`select run_id, status, attempt, error, extract(epoch from ended_at)::float8 * 1000 as ended,
    kwargs->>'durability' as durability from gx.run`);

let runs: Row[];
let lines: Map<string, Line[]>;
let moves: Move[];
let lives: Map<string, Life[]>;
/** The attempts, as `RUN NUMBER`, that stored a checkpoint. */
let stored: Set<string>;

test(`${KILLS * RUNS_PER_KILL} runs come to an end while ${KILLS} workers are killed`, async () => {
  const created = new Set<string>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const numbers = Array.from({ length: RUNS_PER_KILL }, (_, at) => kill * RUNS_PER_KILL + at);
    for (const id of await Promise.all(numbers.map(create))) created.add(id);
    await wait(Math.random() * 2 * PAUSE);
    await fleet.kill((await stepUnderWay(journal, () => fleet.pids, PAUSE)).pid);
    await fleet.complete();
  }
  const unfinished = `select 1 from gx.run where status in ('pending', 'running')`;
  await until('all runs are over', async () => (await database.sql(unfinished)).length === 0, 240);
  runs = await rows();
  lines = byRun(journal.lines());
  moves = [...lines.values()].flatMap(movesOf);
  lives = await livesOf(database);
  const attempts = await database.sql<{ attempt: string }>(
    `select distinct concat(metadata->>'run_id', ' ', metadata->>'run_attempt') as attempt from gx.checkpoints`,
  );
  stored = new Set(attempts.map(({ attempt }) => attempt));
  const ends = Object.entries(Object.groupBy(runs, ({ status }) => status)).map(
    ([status, some]) => `${some?.length} ${status}`,
  );
  say(
    `${runs.length} runs, ${fleet.killed.size} workers killed: ${ends.join(', ')}; ${moves.length} times a run went on in another process`,
  );
  expect(new Set(runs.map(({ run_id }) => run_id))).toEqual(created);
}, 1_200_000);

const lostLives = (): Life[] => [...lives.values()].flat().filter(({ how }) => how === 'lost');

/** Says whether a step of the run began in this life. */
const hasStep = ({ run, attempt }: Life): boolean =>
  lines.get(run)?.some((line) => line.attempt === attempt) === true;

/** Says whether its graph was at work in this life: it began a step, or stored what it begins with. */
const hasBegun = (life: Life): boolean =>
  hasStep(life) || stored.has(`${life.run} ${life.attempt}`);

/** Returns the lives that ended with the death of their worker. */
const cutOff = (): Life[] =>
  [...lives.values()].flat().filter(({ worker, began, ended }) => {
    const death = fleet.dead.get(worker);
    return death !== undefined && began < death && (ended === undefined || ended > death + DYING);
  });

test('a life is lost only with its worker, and only where it had begun', () => {
  for (const { worker, ended } of lostLives())
    expect(fleet.dead.get(worker) ?? Infinity).toBeLessThan(ended!);
  const held = cutOff();
  for (const life of held) expect(['lost', 'handed back']).toContain(life.how);
  const claimed = held.filter((life) => !hasBegun(life));
  const [counted, uncounted] = [
    held.filter(({ how }) => how === 'lost'),
    held.filter(({ how }) => how === 'handed back'),
  ];
  say(
    `${held.length} lives cut off, ${claimed.length} of them before their graph began; ${counted.length} count as lost, ${uncounted.length} do not`,
  );
  expect(counted.length).toBeGreaterThan(0);
  // A later attempt says that it begins some milliseconds before its graph has anything to show for it, and a machine
  // with other work gives a kill more of them. Where each life that is claimed counts, there are more than 10 %.
  expect(claimed.filter(({ how }) => how === 'lost').length).toBeLessThanOrEqual(
    0.05 * held.length,
  );
  // A first attempt that has stored nothing can't be told from one that was only claimed.
  expect(uncounted.filter((life) => hasBegun(life) && life.attempt > 1)).toEqual([]);
  expect(
    uncounted.filter(({ run, attempt }) => stored.has(`${run} ${attempt}`) && attempt === 1),
  ).toEqual([]);
});

test('each has its result after every step; only one whose worker was killed under it three times is given up, with a sentence', () => {
  const deaths = new Map(
    runs.map(({ run_id }) => [
      run_id,
      lives.get(run_id)!.filter(({ how }) => how === 'lost').length,
    ]),
  );
  const counts = [0, 1, 2, 3].map(
    (times) => [...deaths.values()].filter((own) => own === times).length,
  );
  say(
    `killed under their worker: ${counts.map((runs_, times) => `${runs_} runs ${times} times`).join(', ')}`,
  );
  for (const { run_id, status, error } of runs) {
    const end =
      deaths.get(run_id)! < 3
        ? /^success/
        : /^error: The run failed after 3 attempts: each time its worker died/;
    expect(`${status}${error === null ? '' : `: ${error.message}`}`).toMatch(end);
    if (status !== 'success') continue;
    expect(new Set(lines.get(run_id)?.map(({ left }) => left))).toEqual(
      new Set(Array.from({ length: STEPS }, (_, at) => at + 1)),
    );
  }
  expect(Math.max(...deaths.values())).toBeLessThanOrEqual(3);
  const givenUp = runs
    .filter(({ status }) => status === 'error')
    .map(({ run_id }) => lives.get(run_id)!.filter(({ how }) => how === 'lost'));
  expect(givenUp.map(({ length }) => length)).toEqual(givenUp.map(() => 3));
  // As above: a life may end in the milliseconds between saying that it begins and what its graph has to show for it.
  const shown = givenUp.flat().filter((life) => hasBegun(life)).length;
  expect(3 * givenUp.length - shown).toBeLessThanOrEqual(0.02 * lostLives().length);
});

test('none was executed again after its end', () => {
  for (const { run_id, ended } of runs)
    expect(lines.get(run_id)?.at(-1)?.at ?? 0).toBeLessThanOrEqual(ended);
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
    // Asynchronous checkpoints may still be on their way when later steps begin. None of these runs starts over for
    // that reason.
    expect(Math.max(0, ...steps)).toBeLessThanOrEqual(kind === 'sync' ? 1 : STEPS - 1);
  }
});

test('all but one of a hundred went on within three seconds of the death of their worker', () => {
  // A worker may die between claiming a run and the run's first step. Such a run waited for two workers.
  const next = moves.filter(({ from, to }) => to.attempt === from.attempt + 1);
  const waited = next.map(({ from, to }) => to.at - fleet.killed.get(from.pid)!);
  const noticed = cutOff().flatMap(({ worker, ended }) =>
    ended === undefined ? [] : ended - fleet.dead.get(worker)!,
  );
  say(`the death of a worker was noticed after: ${seconds(noticed)}`);
  say(`a run of a killed worker went on elsewhere after: ${seconds(waited)}`);
  expect(waited.length).toBeGreaterThan(0);
  expect(quantile(waited, 0.99)).toBeLessThanOrEqual(CONTINUES_WITHIN);
});

test('no job and no event is left behind', async () => {
  const counts = `select (select count(*)::int from pgboss.job) as jobs, (select count(*)::int from gx.stream_event) as events`;
  const [before] = await database.sql<{ jobs: number; events: number }>(counts);
  const started = Date.now();
  const after = await until(
    'both tables are empty',
    async () => {
      const [row] = await database.sql<{ jobs: number; events: number }>(counts);
      return row?.jobs === 0 && row.events === 0 && row;
    },
    240,
  );
  say(
    `left behind: ${before?.jobs} jobs and ${before?.events} events; gone after ${((Date.now() - started) / 1000).toFixed(0)} s`,
  );
  expect(after).toEqual({ jobs: 0, events: 0 });
}, 300_000);
