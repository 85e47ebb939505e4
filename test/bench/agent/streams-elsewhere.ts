import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { ensureTools } from '../../../dev/cluster/parts.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { median, quantile, together } from './load.ts';
import type { Line } from './report.ts';
import { freePort, type BenchServer } from './servers.ts';

/*
 * Streams of runs that another process executes. The two forms take turns, each on servers and a database of its own:
 * events through the database, and through a key-value store.
 */

const STREAMS = 50;
/** At full speed, and at the speed of models: tokens of each stream, and milliseconds between two of them. */
const FULL = { tokens: 400, pause: 0 };
const PACED = { tokens: 200, pause: 20 };
const PAIRS = 5;

type Form = 'database' | 'store';
type Round = { perSecond: number; databaseMilliseconds: number; lag: number };
type Work = { checkout: Checkout; databases: Databases; scale: number };

/** Returns the lines of the table: what the store gives, as shares of what the database does. */
export async function measureStreamsElsewhere({
  checkout,
  databases,
  scale,
}: Work): Promise<Line[]> {
  const rounds: Record<Form, { full: Round; paced: Round }[]> = { database: [], store: [] };
  for (let pair = 0; pair < Math.max(1, Math.round(PAIRS * scale)); pair += 1) {
    const order: Form[] = pair % 2 === 0 ? ['database', 'store'] : ['store', 'database'];
    for (const form of order) rounds[form].push(await oneRound(form, { checkout, databases }));
  }
  const of = (speed: 'full' | 'paced', figure: keyof Round): Record<Form | 'share', number> => {
    const [database, store] = (['database', 'store'] as const).map((form) =>
      median(rounds[form].map((round) => round[speed][figure])),
    );
    const share = median(
      rounds.store.map((round, at) => round[speed][figure] / rounds.database[at]![speed][figure]),
    );
    return { database: database!, store: store!, share };
  };
  const figure = (
    { database, store, share }: Record<Form | 'share', number>,
    unit: string,
    digits = 1,
  ): string =>
    `${share.toFixed(2)}x (${store.toFixed(digits)} beside ${database.toFixed(digits)} ${unit})`;
  const [speed, cpuFull, cpuPaced, lag] = [
    of('full', 'perSecond'),
    of('full', 'databaseMilliseconds'),
    of('paced', 'databaseMilliseconds'),
    of('paced', 'lag'),
  ];
  return [
    {
      what: 'events at full speed',
      figure: figure(speed, 'per s', 0),
      verdict: { goal: '>= 1.3x', met: speed.share >= 1.3 },
    },
    {
      what: 'processor time of the database for 1,000 events at full speed',
      figure: figure(cpuFull, 'ms'),
      verdict: { goal: '<= 0.5x', met: cpuFull.share <= 0.5 },
    },
    {
      what: 'the same with 20 ms between two tokens',
      figure: figure(cpuPaced, 'ms'),
      verdict: { goal: '<= 0.5x', met: cpuPaced.share <= 0.5 },
    },
    {
      what: 'from the graph to the client with 20 ms between two tokens, p99',
      figure: figure(lag, 'ms'),
      verdict: { goal: '<= 0.5x', met: lag.share <= 0.5 },
    },
  ];
}

async function oneRound(
  form: Form,
  { checkout, databases }: Omit<Work, 'scale'>,
): Promise<{ full: Round; paced: Round }> {
  const store = form === 'store' ? await startStore() : undefined;
  const database = await databases.fresh();
  const env = { GX_LOG_LEVEL: 'warn', ...(store && { GX_REDIS_URI: store.uri }) };
  const queue = await checkout.start({ database, slots: STREAMS, env });
  const api = await checkout.start({ database, slots: 0, env });
  try {
    // The first streams load the graph and prepare statements.
    await streams(api, database, { tokens: 20, pause: 1 });
    const full = await streams(api, database, FULL);
    return { full, paced: await streams(api, database, PACED) };
  } finally {
    for (const server of [api, queue]) await server.stop();
    await store?.stop();
  }
}

/** Reads fifty streams at once, from their starts to their ends. */
async function streams(
  api: BenchServer,
  database: string,
  { tokens, pause: between }: typeof FULL,
): Promise<Round> {
  const lags: number[] = [];
  let events = 0;
  // What the round before left to do is done.
  await pause(1500);
  const before = await databaseMilliseconds(database);
  const milliseconds = await together(STREAMS, STREAMS, async () => {
    const seen = await readTokens(api, `${tokens} ${between}`);
    if (seen.length !== tokens) throw new Error(`${seen.length} tokens of ${tokens} came`);
    events += seen.length;
    lags.push(...seen);
  });
  await pause(1500);
  const spent = (await databaseMilliseconds(database)) - before;
  return {
    perSecond: (events / milliseconds) * 1000,
    databaseMilliseconds: (spent / events) * 1000,
    lag: quantile(lags, 0.99),
  };
}

/** Streams one run, and returns the milliseconds that each token took from the graph to here. */
async function readTokens({ url }: BenchServer, content: string): Promise<number[]> {
  const body = JSON.stringify({
    assistant_id: 'tokens',
    input: { messages: [{ role: 'user', content }] },
    stream_mode: ['custom'],
  });
  const answer = await fetch(`${url}/runs/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const lags: number[] = [];
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of answer.body!) {
    const now = performance.timeOrigin + performance.now();
    const messages = (text + decoder.decode(chunk as Uint8Array, { stream: true })).split(
      '\r\n\r\n',
    );
    text = messages.pop() ?? '';
    for (const message of messages) {
      const at = /^event: custom\r\ndata: .*"at":([\d.]+)/.exec(message)?.[1];
      if (at !== undefined) lags.push(now - Number(at));
    }
  }
  return lags;
}

/** Ticks of the processor's clock in a second, as /proc counts: 100 on every Linux of today. */
const TICKS = 100;

/** Returns the milliseconds of processor time that the database server has taken so far, ended processes included. */
async function databaseMilliseconds(uri: string): Promise<number> {
  const client = new Client({ connectionString: uri });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const server = Number(fieldsOf(rows[0]!.pid)[PARENT]);
  await client.end();
  const children = globSync(`/proc/${server}/task/*/children`).flatMap((file) =>
    readFileSync(file, 'utf8').split(' ').filter(Boolean),
  );
  const ticks = (pid: number, places: number[]): number =>
    places.reduce((sum, place) => sum + Number(fieldsOf(pid)[place] ?? 0), 0);
  const own = ticks(server, [USER, SYSTEM, ENDED_USER, ENDED_SYSTEM]);
  return (
    ((own + children.reduce((sum, pid) => sum + ticks(Number(pid), [USER, SYSTEM]), 0)) * 1000) /
    TICKS
  );
}

/** Places in /proc/<pid>/stat behind the name of the process, which may hold spaces. */
const [PARENT, USER, SYSTEM, ENDED_USER, ENDED_SYSTEM] = [1, 11, 12, 13, 14] as const;

/** A process that has ended meanwhile has no fields. */
function fieldsOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

async function startStore(): Promise<{ uri: string; stop(): Promise<void> }> {
  const tools = await ensureTools(['valkey-server']);
  const port = await freePort();
  const child = spawn(
    tools['valkey-server'],
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--maxmemory',
      '256mb',
      '--maxmemory-policy',
      'volatile-ttl',
    ],
    {
      stdio: 'ignore',
    },
  );
  const stop = async (): Promise<void> => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return { uri: `redis://127.0.0.1:${port}`, stop };
}
