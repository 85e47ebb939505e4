import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { build } from 'esbuild';
import { openConsole } from '../../console/kit.ts';
import { memorySettings } from '../../kit/image-environment.ts';
import { until } from '../../kit/until.ts';

/* The processes around the chats: the agent that writes them, the console that passes them on, and a control plane. */

/** Milliseconds of the machine's own clock, which all processes share. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;

const listening = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

/** A control plane that knows every key, and gives passes for one agent. */
export async function startPlaneDouble(): Promise<{ port: number; stop: () => void }> {
  const who = {
    name: 'me',
    role: 'write',
    tenant_id: 't',
    tenants: ['t'],
    expires_at: null,
    features: {},
  };
  const names = {
    service: 'chat-agent',
    namespace: 'team',
    mount_prefix: '',
    guard: 'key',
    asleep_since: null,
    role: 'write',
  };
  const server = createServer(({ url = '', headers }, reply) => {
    const pass = {
      pass: 'gxp_pass',
      expires_at: new Date(Date.now() + 300_000).toISOString(),
      ...names,
    };
    const body = url === '/v2/whoami' ? { ...who, subject: headers['x-api-key'] } : pass;
    reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const port = await listening(server);
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { port, stop };
}

/** The most memory that a process has taken since that was asked last, and its processor time in milliseconds. */
export type Usage = { bytes: number; worked: number };

/** A process that this program starts. */
export type Measured = { child: ChildProcess; url: string; used: () => Usage };

/** Bundles this program, as images bundle theirs: Node takes memory for sources that it strips of types. */
export async function bundled(): Promise<string> {
  const outfile = resolve('.run/bench-console/main.js');
  const entryPoints = [process.argv[1] ?? ''];
  await build({
    entryPoints,
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  return outfile;
}

/** Starts a process of the bundle, with the memory settings of the platform's image. */
export async function startMeasured(bundle: string, args: string[]): Promise<Measured> {
  const child = fork(bundle, args, { env: { ...process.env, ...memorySettings('gx-platform') } });
  let url = '';
  let usage: Usage = { bytes: 0, worked: 0 };
  let since = 0;
  child.on('message', (message: string | Usage) => {
    if (typeof message === 'string') url = message;
    else usage = { bytes: Math.max(usage.bytes, message.bytes), worked: message.worked };
  });
  await until('the process is ready', () => url !== '' || child.exitCode !== null);
  const used = (): Usage => {
    const found = { bytes: usage.bytes, worked: usage.worked - since };
    since = usage.worked;
    usage = { ...usage, bytes: 0 };
    return found;
  };
  return { child, url, used };
}

/** Says where this process serves, and every 200 ms how much it has used, until its parent lets it go. */
async function servesUntilLeft(url: string): Promise<void> {
  const parted = once(process, 'disconnect');
  const usage = (): Usage => {
    const { user, system } = process.cpuUsage();
    return { bytes: process.memoryUsage.rss(), worked: (user + system) / 1000 };
  };
  process.send?.(usage());
  process.send?.(url);
  const telling = setInterval(() => process.connected && process.send?.(usage()), 200);
  await parted;
  clearInterval(telling);
}

/** Serves the console in front of two ports. */
export async function serveConsoleFor({
  plane,
  agent,
}: {
  plane: string;
  agent: string;
}): Promise<void> {
  const reach = (): { host: string; port: number } => ({ host: '127.0.0.1', port: Number(agent) });
  const running = await openConsole(`http://127.0.0.1:${plane}`, {}, undefined, reach);
  await servesUntilLeft(running.url);
  await running.stop();
}

type Written = { readers: number; seconds: number; pause: number };

/** Serves chats: each is written to all its readers at the same instant, once so many have come. */
export async function serveChats({ readers, seconds, pause }: Written): Promise<void> {
  const waiting = new Map<string, ServerResponse[]>();
  const server = createServer(({ url = '' }, reply) => {
    reply.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    reply.flushHeaders();
    const chat = [...(waiting.get(url) ?? []), reply];
    waiting.set(url, chat);
    if (chat.length < readers) return;
    waiting.delete(url);
    void writeTokens(chat, { seconds, pause });
  });
  const port = await listening(server);
  await servesUntilLeft(`http://127.0.0.1:${port}`);
  server.closeAllConnections();
  server.close();
}

/** Writes tokens, each with its number and the time at which it was written. */
async function writeTokens(
  replies: ServerResponse[],
  { seconds, pause }: Omit<Written, 'readers'>,
): Promise<void> {
  // Chats begin at times of their own, as people do.
  await wait(Math.random() * pause);
  const end = now() + seconds * 1000;
  for (let number = 0; now() < end && replies.every(({ destroyed }) => !destroyed); number += 1) {
    const token = JSON.stringify([
      { type: 'AIMessageChunk', id: 'a', content: 'word ', number, at: now() },
      {},
    ]);
    // No reader is always the first one.
    for (const reply of number % 2 === 0 ? replies : replies.toReversed())
      reply.write(`event: messages\ndata: ${token}\n\n`);
    await wait(pause);
  }
  for (const reply of replies) reply.end();
}
