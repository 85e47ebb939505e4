import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { waitOnFreshThread } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { median, together } from './load.ts';
import type { Line } from './report.ts';
import { residentMegabytes, type BenchServer } from './servers.ts';

const CLIENTS = 50;
const ROUNDS = 7;
/** Waited runs of each server in a round. */
const RUNS = 500;
/** The seconds that the garbage collector gets. */
const BREATHE = 10;

type Work = { checkout: Checkout; databases: Databases; scale: number };

/** Returns the waited runs of a second. */
async function rate(server: BenchServer, runs: number): Promise<number> {
  const started = performance.now();
  await together(CLIENTS, runs, () => waitOnFreshThread(server));
  return (1000 * runs) / (performance.now() - started);
}

/** Measures what traces cost a server: its rate of waited runs beside that of one without them, and its memory. */
export async function measureTraced({ checkout, databases, scale }: Work): Promise<Line[]> {
  let bytes = 0;
  const collector = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('end', () => response.end());
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
  };
  const plain = await checkout.start({ database: await databases.fresh() });
  const traced = await checkout.start({ database: await databases.fresh(), env });
  const runs = Math.round(RUNS * scale);
  const rates = { plain: [] as number[], traced: [] as number[] };
  let idle = 0;
  try {
    for (const server of [plain, traced]) await waitOnFreshThread(server);
    await pause(BREATHE * 1000);
    idle = residentMegabytes(traced.pid) - residentMegabytes(plain.pid);
    for (let round = 0; round <= ROUNDS; round += 1)
      for (const kind of round % 2 === 0
        ? (['plain', 'traced'] as const)
        : (['traced', 'plain'] as const)) {
        const found = await rate(kind === 'plain' ? plain : traced, runs);
        // The first one warms the code up.
        if (round > 0) rates[kind].push(found);
      }
  } finally {
    await Promise.all([plain.stop(), traced.stop()]);
    collector.close();
  }
  const [without, withTraces] = [median(rates.plain), median(rates.traced)];
  const less = 1 - withTraces / without;
  return [
    {
      what: `waited runs of ${CLIENTS} clients: ${withTraces.toFixed(0)} per s, without traces ${without.toFixed(0)} per s`,
      figure: `${(100 * less).toFixed(1)} % less`,
      verdict: { goal: '<= 5 % less', met: less <= 0.05 },
    },
    {
      what: 'RSS of an idle server that has traced a run, more',
      figure: `${idle.toFixed(0)} MB`,
      verdict: { goal: '<= 15 MB', met: idle <= 15 },
    },
    {
      what: 'sent for each run',
      figure: `${(bytes / (runs * (ROUNDS + 1) + 1)).toFixed(0)} bytes`,
    },
  ];
}
