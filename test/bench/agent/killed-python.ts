import process from 'node:process';
import { until } from '../../kit/until.ts';
import { openJournal, type Journal, type Line as Step } from '../../crash/journal.ts';
import { pythonTools } from '../../python/tools.ts';
import { createThread } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { call } from './http.ts';
import { median } from './load.ts';
import type { Line } from './report.ts';
import type { BenchServer } from './servers.ts';

const KILLS = 10;
/** Runs under way at each kill. */
const RUNS = 5;
/** Milliseconds of a step. */
const PAUSE = 50;
/** Seconds. */
const WITHIN = 1.5;

type Work = { checkout: Checkout; databases: Databases; scale: number };
/** `start` starts a server on a database; `fresh` makes one, because runs that were killed go on for long. */
type Killing = {
  fresh: () => Promise<string>;
  start: (database: string) => Promise<BenchServer>;
  journal: Journal;
  kills: number;
};

const input = (journal: Journal): object => ({ left: 1000, pause: PAUSE, journal: journal.file });

/** Starts runs, and returns their ids once all of them have stored some steps in one process. */
async function underWay(server: BenchServer, journal: Journal): Promise<string[]> {
  const ids: string[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const url = `${server.url}/threads/${await createThread(server)}/runs`;
    const body = {
      assistant_id: 'counted',
      input: input(journal),
      config: { recursion_limit: 2000 },
    };
    ids.push((await call<{ run_id: string }>(url, body)).run_id);
  }
  await until('all runs are under way', () => ids.every((id) => journal.of(id).length > 3));
  return ids;
}

/** Returns how many milliseconds after the kill each run has begun a step in another process. */
async function untilGoesOn(
  ids: string[],
  journal: Journal,
  kill: (runner: Step) => Promise<unknown>,
): Promise<number[]> {
  const former = journal.of(ids[0]!).at(-1)!;
  const at = Date.now();
  await kill(former);
  const steps = await until('all runs go on', () => {
    const first = ids.map((id) => journal.of(id).find(({ runner }) => runner !== former.runner));
    return first.every((step) => step !== undefined) && first;
  });
  return steps.map((step) => step.at - at);
}

/** Kills the runner alone. A server for each kill, because a run that dies twice has a process of its own. */
async function killRunners({ fresh, start, journal, kills }: Killing): Promise<number[]> {
  const times: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const server = await start(await fresh());
    const ids = await underWay(server, journal);
    times.push(
      ...(await untilGoesOn(ids, journal, async ({ runner }) => process.kill(runner!, 'SIGKILL'))),
    );
    await server.stop();
  }
  return times;
}

/** Kills the server with its runner. Another one is there, as in a deployment of two pods. */
async function killServers({ fresh, start, journal, kills }: Killing): Promise<number[]> {
  const times: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const database = await fresh();
    const server = await start(database);
    const ids = await underWay(server, journal);
    const other = await start(database);
    times.push(...(await untilGoesOn(ids, journal, () => server.stop())));
    await other.stop();
  }
  return times;
}

const lineOf = (what: string, times: number[]): Line => {
  const seconds = median(times) / 1000;
  const worst = Math.max(...times) / 1000;
  return {
    what: `${what}: p50 (worst ${worst.toFixed(2)} s)`,
    figure: `${seconds.toFixed(2)} s`,
    verdict: { goal: `<= ${WITHIN} s`, met: seconds <= WITHIN },
  };
};

/** Measures how soon runs of graphs in Python go on whose process was killed. */
export async function measureKilledPython({ checkout, databases, scale }: Work): Promise<Line[]> {
  const journal = openJournal();
  const kills = Math.max(2, Math.round(KILLS * scale));
  const env = { GX_PYTHON: `${await pythonTools()}/python` };
  const config = '../../../crash/graphs/python.json';
  const start = (database: string): Promise<BenchServer> =>
    checkout.start({ database, config, env });
  const killing = { fresh: () => databases.fresh(), start, journal, kills };
  return [
    lineOf(
      'the runner of five runs is killed, and they go on in its server after',
      await killRunners(killing),
    ),
    lineOf(
      'the server of five runs is killed, and they go on in another one after',
      await killServers(killing),
    ),
  ];
}
