import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { program, say, step } from '../../dev/steps.ts';
import { atAgent, KEY } from '../console/agent-kit.ts';
import { Browser, openConsole } from '../console/kit.ts';
import { until } from '../kit/until.ts';
import { megabytes, quantile, Table } from './operator/table.ts';

const HELP = `What chats cost on their way through a process of the console, beside the same chats without it.

Usage: node test/bench/console.ts [options]

  --chats <number>    chats at the same time (default 500)
  --seconds <number>  how long each is written (default 20)
  --pause <number>    milliseconds between two tokens of a chat (default 200)
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    chats: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '20' },
    pause: { type: 'string', default: '200' },
    // Set in the process of the console, which this program starts: the ports of the two doubles.
    plane: { type: 'string' },
    agent: { type: 'string' },
  },
});

/** The goals: bytes of the process, and milliseconds that a token takes longer. */
const GOALS = { bytes: 200 * 2 ** 20, p99: 5 };
const WHO = { subject: 'k1', name: 'me', role: 'write', tenant_id: 't', tenants: ['t'], expires_at: null, features: {} };
/** Seconds at the beginning of a chat that do not count, in which connections open. */
const WARM = 3;

const now = (): number => performance.timeOrigin + performance.now();
const listening = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

/** A control plane that knows one key, and gives passes for one agent. */
const planeDouble = (): Server =>
  createServer(({ url = '' }, reply) => {
    const names = { service: 'chat-agent', namespace: 'team', mount_prefix: '', guard: 'key', asleep_since: null, role: 'write' };
    const pass = { pass: 'gxp_pass', expires_at: new Date(Date.now() + 300_000).toISOString(), ...names };
    reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(url === '/v2/whoami' ? WHO : pass));
  });

/** Writes tokens, each with the time at which it was sent. */
async function writeTokens(reply: ServerResponse): Promise<void> {
  reply.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  reply.flushHeaders();
  // Chats begin at times of their own, as people do.
  await wait(Math.random() * Number(values.pause));
  for (const end = now() + Number(values.seconds) * 1000; now() < end && !reply.destroyed; await wait(Number(values.pause)))
    reply.write(`event: messages\ndata: [{"type":"AIMessageChunk","id":"a","content":"word ","at":${now()}},{}]\n\n`);
  reply.end();
}

/** Reads a chat, and collects how long each token took. */
async function readTokens(response: Response, times: number[]): Promise<void> {
  if (!response.ok || response.body === null) throw new Error(`A chat was answered with ${response.status}.`);
  const began = now();
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const came = now();
    if (came - began < WARM * 1000) continue;
    for (const [, at] of piece.matchAll(/"at":([\d.]+)/g)) times.push(came - Number(at));
  }
}

const readAll = async (open: (chat: number) => Promise<Response>): Promise<number[]> => {
  const times: number[] = [];
  await Promise.all(Array.from({ length: Number(values.chats) }, async (_, chat) => readTokens(await open(chat), times)));
  return times;
};

/** The process of the console, as this program starts it. `bytes`: the most that it has taken. */
type Measured = { child: ChildProcess; url: string; bytes: () => number };

async function startMeasured(ports: { plane: number; agent: number }): Promise<Measured> {
  const child = fork(import.meta.filename, ['--plane', String(ports.plane), '--agent', String(ports.agent)]);
  let [url, bytes] = ['', 0];
  child.on('message', (message) => {
    if (typeof message === 'string') url = message;
    else bytes = Math.max(bytes, Number(message));
  });
  await until('the console is ready', () => url !== '' || child.exitCode !== null);
  return { child, url, bytes: () => bytes };
}

/** Serves the console, and says every 200 ms how much memory it takes. */
async function serveMeasured(plane: string, agent: string): Promise<void> {
  const reach = (): { host: string; port: number } => ({ host: '127.0.0.1', port: Number(agent) });
  const running = await openConsole(`http://127.0.0.1:${plane}`, {}, undefined, reach);
  process.send?.(running.url);
  const telling = setInterval(() => process.send?.(process.memoryUsage.rss()), 200);
  await once(process, 'disconnect');
  clearInterval(telling);
  await running.stop();
}

function tableOf({ direct, through, bytes }: { direct: number[]; through: number[]; bytes: number }): Table {
  const table = new Table();
  const shown = (milliseconds: number): string => `${milliseconds.toFixed(1)} ms`;
  const added = quantile(through, 0.99) - quantile(direct, 0.99);
  table.title(`${values.chats} chats, a token every ${values.pause} ms, ${values.seconds} s`);
  table.row('tokens that were read: direct, through the console', `${direct.length}, ${through.length}`);
  table.row('a token without the console: p50, p99', `${shown(quantile(direct, 0.5))}, ${shown(quantile(direct, 0.99))}`);
  table.row('through the console: p50, p99', `${shown(quantile(through, 0.5))}, ${shown(quantile(through, 0.99))}`);
  table.row('added: p99', shown(added), { says: `at most ${GOALS.p99} ms`, met: added <= GOALS.p99 });
  table.row('memory of the console, the most', megabytes(bytes), { says: `at most ${megabytes(GOALS.bytes)}`, met: bytes <= GOALS.bytes });
  return table;
}

async function main(): Promise<void> {
  if (values.help) return say(HELP);
  if (values.plane !== undefined && values.agent !== undefined) return serveMeasured(values.plane, values.agent);
  const plane = planeDouble();
  const agent = createServer((_, reply) => void writeTokens(reply));
  const ports = { plane: await listening(plane), agent: await listening(agent) };
  const { child, url, bytes } = await startMeasured(ports);
  try {
    const browser = new Browser(url);
    await browser.signIn(KEY);
    const path = '/threads/t/runs/stream';
    const direct = await step('chats without the console', () =>
      readAll(() => fetch(`http://127.0.0.1:${ports.agent}${path}`, { method: 'POST', body: '{}' })),
    );
    const through = await step('chats through the console', () => readAll(() => browser.ask(atAgent(path), { method: 'POST', body: {} })));
    say(tableOf({ direct, through, bytes: bytes() }).toString());
  } finally {
    child.disconnect();
    for (const server of [plane, agent]) {
      server.closeAllConnections();
      server.close();
    }
  }
}

await program(main);
