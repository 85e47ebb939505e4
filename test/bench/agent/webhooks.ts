import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createThread, input, streamRun, waitOnFreshThread } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { call } from './http.ts';
import { median, oneByOne, together } from './load.ts';
import type { Line } from './report.ts';
import { freePort, type BenchServer } from './servers.ts';

/*
 * What bad targets of webhooks cost others: runs and streams without webhooks are measured before 1,000 runs with one,
 * and right behind them, while the server is busy with their messages.
 */

const CLIENTS = 50;
const RUNS = 1000;
const STREAMS = 150;
/** Of this share of its speed, work beside bad targets keeps at least so much. */
const KEPT = 0.95;

const METADATA = 'http://169.254.169.254/latest/meta-data';

/** Undefined: nobody is there. */
const TARGETS: Record<string, RequestListener | undefined> = {
  'answers 200': (request, response) => void request.resume().on('end', () => response.end()),
  refuses: undefined,
  hangs: (request) => void request.resume(),
  'redirects to a metadata address': (request, response) =>
    void request.resume().on('end', () => response.writeHead(307, { location: METADATA }).end()),
  'answers 500': (request, response) =>
    void request.resume().on('end', () => response.writeHead(500).end()),
};

type Speeds = { runs: number; streams: number };

const perSecond = async (count: number, work: () => Promise<unknown>): Promise<number> =>
  (count / (await together(CLIENTS, count, work))) * 1000;

/** Runs a second by 50 clients, and streams of 50 events a second by one. */
async function speedsOf(server: BenchServer, scale: number): Promise<Speeds> {
  const runs = await perSecond(RUNS * scale, () => waitOnFreshThread(server));
  const times = await oneByOne(STREAMS * scale, async () =>
    streamRun(server, await createThread(server)),
  );
  return { runs, streams: 1000 / median(times) };
}

async function waitWith(server: BenchServer, webhook: string): Promise<void> {
  const thread = await createThread(server);
  await call(`${server.url}/threads/${thread}/runs/wait`, { assistant_id: 'echo', input, webhook });
}

async function measured(
  server: BenchServer,
  webhook: string,
  scale: number,
): Promise<{ before: Speeds; told: number; beside: Speeds }> {
  await perSecond(RUNS * scale, () => waitOnFreshThread(server));
  const before = await speedsOf(server, scale);
  const told = await perSecond(RUNS * scale, () => waitWith(server, webhook));
  return { before, told, beside: await speedsOf(server, scale) };
}

type Figures = { workers: { max: number; available: number }; webhooks: Record<string, number> };

async function lineOf(target: string, { checkout, databases, scale }: Work): Promise<Line> {
  const listener = TARGETS[target];
  const receiver = listener && createServer(listener).listen(0, '127.0.0.1');
  if (receiver !== undefined) await once(receiver, 'listening');
  const port = receiver === undefined ? await freePort() : (receiver.address() as AddressInfo).port;
  const server = await checkout.start({ database: await databases.fresh() });
  const { before, told, beside } = await measured(server, `http://127.0.0.1:${port}/`, scale);
  const { workers, webhooks } = await call<Figures>(`${server.url}/metrics?format=json`);
  await server.stop();
  receiver?.closeAllConnections();
  receiver?.close();
  const kept = { runs: beside.runs / before.runs, streams: beside.streams / before.streams };
  const counts = Object.entries(webhooks).map(([name, count]) => `${count} ${name}`);
  const met = Math.min(kept.runs, kept.streams) >= KEPT && workers.available === workers.max;
  return {
    what: `a target that ${target}: runs beside it, streams beside it; runs with the webhook`,
    figure: `${kept.runs.toFixed(2)}x, ${kept.streams.toFixed(2)}x; ${told.toFixed(0)} of ${before.runs.toFixed(0)} per s (${counts.join(', ')})`,
    verdict: { goal: `>= ${KEPT}x, no worker lost`, met },
  };
}

type Work = { checkout: Checkout; databases: Databases; scale: number };

/** Measures each kind of target on a server of its own. */
export async function measureWebhooks(work: Work): Promise<Line[]> {
  const lines: Line[] = [];
  for (const target of Object.keys(TARGETS)) lines.push(await lineOf(target, work));
  return lines;
}
