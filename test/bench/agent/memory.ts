import { setTimeout as pause } from 'node:timers/promises';
import type { Databases } from './databases.ts';
import { startOurs } from './ours.ts';
import { burst } from './scenarios/runs.ts';
import { residentMegabytes } from './servers.ts';

/** Seconds after which a server that nobody asks counts as idle. */
const SETTLE = 6;

export type Memory = { apiOnly: number; idle: number; after: number; drained: number };

/** Megabytes: of a process that only answers requests, of a whole server, and of that one after a burst of runs; and how fast those went. */
export async function measureMemory(databases: Databases, runs: number): Promise<Memory> {
  const api = await startOurs({ database: await databases.fresh(), slots: 0 });
  await pause(SETTLE * 1000);
  const apiOnly = residentMegabytes(api.pid);
  await api.stop();
  const server = await startOurs({ database: await databases.fresh() });
  await pause(SETTLE * 1000);
  const idle = residentMegabytes(server.pid);
  const drained = await burst(server, runs);
  await pause(SETTLE * 1000);
  const after = residentMegabytes(server.pid);
  await server.stop();
  return { apiOnly, idle, after, drained };
}
