import { setTimeout as pause } from 'node:timers/promises';
import { createRun, createThread, waitOnFreshThread, type EchoState } from '../api.ts';
import { call } from '../http.ts';
import { mostAtOnce, withDatabase } from '../executed-runs.ts';
import { median, oneByOne, together } from '../load.ts';
import type { BenchServer } from '../servers.ts';
import type { Scenario } from './scenario.ts';

/** Clients that create runs at the same time in the burst. */
const CREATORS = 20;
const LOOK_EVERY = 100;

/** Milliseconds since the epoch with fractions, as the graphs write them. */
const now = (): number => performance.timeOrigin + performance.now();

const waitAlone: Scenario = {
  id: 'wait-1',
  what: 'thread + run + wait, 1 client: p50',
  unit: 'ms',
  sizes: { gx: 150, js: 10, aegra: 40, 'aegra-redis': 5, python: 40 },
  limit: { atMost: 8 },
  // The first half warms up every server: its code is compiled and its caches are filled before it is measured.
  measure: async (server, size) =>
    median((await oneByOne(2 * size, () => waitOnFreshThread(server))).slice(size)),
};

const waitFifty: Scenario = {
  id: 'wait-50',
  what: 'the same, 50 clients: runs',
  unit: 'per s',
  sizes: { gx: 1000, js: 250, aegra: 150, 'aegra-redis': 100, python: 150 },
  limit: { atLeast: 310 },
  times: [
    { of: ['aegra', 'aegra-redis'], atLeast: 6 },
    { of: ['js'], atLeast: 3 },
  ],
  measure: async (server, size) =>
    (size / (await together(50, size, () => waitOnFreshThread(server)))) * 1000,
};

/** Measures from sending the request to the first line of the graph. */
async function untilStarted(server: BenchServer): Promise<number> {
  const thread = await createThread(server);
  const sent = now();
  await createRun(server, thread);
  for (;;) {
    await pause(15);
    const { values } = await call<{ values: Partial<EchoState> | null }>(
      `${server.url}/threads/${thread}/state`,
    );
    if (values?.started_at !== undefined) return values.started_at - sent;
  }
}

const start: Scenario = {
  id: 'start',
  what: 'background run, idle server: request to start, p50',
  unit: 'ms',
  sizes: { gx: 60, js: 20, aegra: 30, 'aegra-redis': 20, python: 20 },
  limit: { atMost: 8 },
  measure: async (server, size) => {
    const delays: number[] = [];
    for (let index = 0; index < size; index += 1) delays.push(await untilStarted(server));
    return median(delays);
  },
};

/** Creates runs on threads of their own as fast as the server takes them, and waits until none is left. */
export async function burst(server: BenchServer, size: number): Promise<number> {
  const threads: string[] = [];
  await together(CREATORS, size, async () => threads.push(await createThread(server)));
  const started = performance.now();
  await together(CREATORS, size, (index) => createRun(server, threads[index]!));
  while (
    (await call<unknown[]>(`${server.url}/threads/search`, { status: 'busy', limit: 1 })).length > 0
  )
    await pause(LOOK_EVERY);
  return (size / (performance.now() - started)) * 1000;
}

const burstDrained: Scenario = {
  id: 'burst',
  what: 'burst of runs, creation included: drained (5,000; peers fewer)',
  unit: 'per s',
  sizes: { gx: 5000, js: 1000, aegra: 200, 'aegra-redis': 200, python: 200 },
  limit: { atLeast: 300 },
  times: [{ of: ['js'], atLeast: 1 }],
  measure: burst,
};

/** Compares later runs of a thread with its first ones. */
async function slowdown(size: number, run: () => Promise<unknown>): Promise<number> {
  const times = await oneByOne(size, run);
  return median(times.slice(-size / 10)) / median(times.slice(0, size / 10));
}

const longThread: Scenario = {
  id: 'long-thread',
  what: '200 runs on one thread: p50 of the last tenth to the first',
  unit: 'times',
  sizes: { gx: 200 },
  limit: { atMost: 1.2 },
  measure: async (server, size) => {
    const url = `${server.url}/threads/${await createThread(server)}/runs/wait`;
    return slowdown(size, () =>
      call(url, { assistant_id: 'steady', input: { question: 'a question of a few words' } }),
    );
  },
};

/** Milliseconds at rest: time for two looks at the empty queue, which plan how tickets are taken. */
const AT_REST = 4000;

/**
 * What Postgres knows of a table decides how runs are taken. Of a server at rest it knows that the queue is empty, and
 * what it planned then may be used for the whole burst.
 */
const burstAtRest: Scenario = {
  id: 'burst-at-rest',
  what: 'burst of 1,000 runs after `analyze` of the empty queue, never more at once than the slots: drained',
  unit: 'per s',
  sizes: { gx: 1000 },
  rounds: 10,
  worst: { atLeast: 250 },
  measure: async (server, size) => {
    const { database, slots } = server.own!;
    await withDatabase(database, (query) => query('vacuum analyze pgboss.job_common'));
    await pause(AT_REST);
    const began = new Date();
    const drained = await burst(server, size);
    const atOnce = await withDatabase(database, (query) => mostAtOnce(query, began));
    if (atOnce > slots)
      throw new Error(`${atOnce} runs were executed at once, with ${slots} slots`);
    return drained;
  },
};

export const runScenarios = [waitAlone, waitFifty, start, burstDrained, burstAtRest, longThread];
