import { setTimeout as pause } from 'node:timers/promises';
import { waitOnFreshThread } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { together } from './load.ts';
import { burst } from './scenarios/runs.ts';
import { residentMegabytes, type BenchServer } from './servers.ts';

/**
 * The seconds after which an idle server has freed what it does not need (REST in src/agent/graphs/host.ts, and its
 * next look).
 */
const SETTLE = 70;
/** The seconds that the garbage collector gets after the start. */
const BREATHE = 5;

const CLIENTS = 50;
const LOOK_EVERY = 200;

export type Memory = {
  apiOnly: number;
  idle: number;
  loaded: number;
  after: number;
  drained: number;
};

/**
 * Measures in megabytes a process that only answers requests, a whole server, and the same server under load and after
 * a burst of runs. It also measures how fast the runs of the burst went.
 */
export async function measureMemory(
  checkout: Checkout,
  databases: Databases,
  runs: number,
): Promise<Memory> {
  const api = await checkout.start({ database: await databases.fresh(), slots: 0 });
  const server = await checkout.start({ database: await databases.fresh() });
  await pause(BREATHE * 1000);
  const idle = residentMegabytes(server.pid);
  const loaded = await underLoad(server, runs);
  const drained = await burst(server, runs);
  await pause(SETTLE * 1000);
  const [apiOnly, after] = [residentMegabytes(api.pid), residentMegabytes(server.pid)];
  await api.stop();
  await server.stop();
  return { apiOnly, idle, loaded, after, drained };
}

/** Returns the most megabytes that the server holds while clients wait for this many runs. */
async function underLoad(server: BenchServer, runs: number): Promise<number> {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, residentMegabytes(server.pid));
  }, LOOK_EVERY);
  await together(CLIENTS, runs, () => waitOnFreshThread(server)).finally(() =>
    clearInterval(timer),
  );
  return most;
}
