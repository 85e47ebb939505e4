import { setTimeout as pause } from 'node:timers/promises';
import { createThread, wait } from './api.ts';
import { pythonSettings, type Checkout, type ServerSettings } from './checkout.ts';
import type { Databases } from './databases.ts';
import { together } from './load.ts';
import type { Line } from './report.ts';
import { proportionalMegabytes, type BenchServer } from './servers.ts';

/* The memory that a pod of each kind needs, for the page about sizes. Its processes share pages, which count once. */

/** The seconds that the garbage collectors get before a measurement. */
const BREATHE = 6;

type Kind = { what: string; settings: Partial<ServerSettings>; runs: boolean };

const kinds = (python: Partial<ServerSettings>): Kind[] => [
  { what: 'graphs in JavaScript', settings: {}, runs: true },
  { what: 'graphs in Python', settings: python, runs: true },
  {
    what: 'graphs in JavaScript, handlers in Python',
    settings: { ...python, config: 'guarded-python.json' },
    runs: false,
  },
  {
    what: 'graphs in JavaScript, http.app in Python',
    settings: { ...python, config: 'routes-python.json' },
    runs: false,
  },
];

/** Measures a server of each kind at rest and, where everybody may call it, after runs of 50 clients. */
export async function measurePods(work: {
  checkout: Checkout;
  databases: Databases;
  scale: number;
}): Promise<Line[]> {
  const lines: Line[] = [];
  for (const kind of kinds(await pythonSettings())) lines.push(...(await linesOf(kind, work)));
  return lines;
}

async function linesOf(
  { what, settings, runs }: Kind,
  { checkout, databases, scale }: { checkout: Checkout; databases: Databases; scale: number },
): Promise<Line[]> {
  const server = await checkout.start({ database: await databases.fresh(), ...settings });
  try {
    await pause(BREATHE * 1000);
    const lines = [{ what: `${what}: at rest`, figure: memoryOf(server) }];
    if (!runs) return lines;
    const count = Math.round(1000 * scale);
    await together(50, count, async () => wait(server, await createThread(server)));
    return [
      ...lines,
      { what: `${what}: after ${count} runs of 50 clients`, figure: memoryOf(server) },
    ];
  } finally {
    await server.stop();
  }
}

function memoryOf({ pid }: BenchServer): string {
  const [server, ...others] = proportionalMegabytes(pid).map((megabytes) => megabytes.toFixed(0));
  return others.length === 0
    ? `${server} MB`
    : `${server} MB, and ${others.join(' and ')} MB in Python`;
}
