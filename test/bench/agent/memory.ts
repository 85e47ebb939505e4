import { setTimeout as pause } from 'node:timers/promises';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { burst } from './scenarios/runs.ts';
import { residentMegabytes } from './servers.ts';

/**
 * The seconds after which an idle server has freed what it does not need (REST in src/agent/threads/host.ts, and its
 * next look).
 */
const SETTLE = 70;
/** The seconds that the garbage collector gets after the start. */
const BREATHE = 5;

export type Memory = { apiOnly: number; idle: number; after: number; drained: number };

/**
 * Measures in megabytes a process that only answers requests, a whole server, and the same server after a burst of
 * runs. It also measures how fast those runs went.
 */
export async function measureMemory(checkout: Checkout, databases: Databases, runs: number): Promise<Memory> {
  const api = await checkout.start({ database: await databases.fresh(), slots: 0 });
  const server = await checkout.start({ database: await databases.fresh() });
  await pause(BREATHE * 1000);
  const idle = residentMegabytes(server.pid);
  const drained = await burst(server, runs);
  await pause(SETTLE * 1000);
  const [apiOnly, after] = [residentMegabytes(api.pid), residentMegabytes(server.pid)];
  await api.stop();
  await server.stop();
  return { apiOnly, idle, after, drained };
}
