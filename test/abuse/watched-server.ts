import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { LEASHED } from '../kit/leash.ts';
import { until } from '../kit/until.ts';

/** A server in a process of its own, whose event loop and memory are watched from outside. */
export type WatchedServer = {
  url: string;
  /** Begins a measurement. */
  reset(): Promise<void>;
  /** Returns the longest block of the event loop in milliseconds, and the bytes of memory taken, since the reset. */
  cost(): Promise<{ block: number; memory: number }>;
  /** Bytes of memory now. */
  memory(): number;
  isAlive(): boolean;
  stop(): Promise<void>;
};

const WATCH = path.join(import.meta.dirname, 'loop-watch.mjs');

/** `ready`: the path that answers once it is ready; without one, it is when it tells its port. */
type Program = { ready?: string; program?: string };

/** Starts a server, the platform's unless another program is named, and waits until it is ready. */
export async function startWatched(
  args: string[],
  env: Record<string, string>,
  { ready, program = 'src/main.ts' }: Program = {},
): Promise<WatchedServer> {
  const child = spawn(process.execPath, [...LEASHED, '--import', WATCH, program, ...args], {
    env: {
      PATH: '',
      GX_SERVER_HOST: '127.0.0.1',
      GX_SERVER_PORT: '0',
      GX_LOG_LEVEL: 'info',
      ...env,
    },
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  });
  let output = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    if (output.length < 20_000) output += chunk.toString();
  });
  const port = (): string | undefined => /"port":(\d+)/.exec(output)?.[1];
  await until(`${args[0]} listens`, () => port() !== undefined, 60);
  const url = `http://127.0.0.1:${port()}`;
  if (ready !== undefined)
    await until(`${args[0]} is ready`, async () => (await fetch(`${url}${ready}`)).ok);
  let before = 0;
  const pid = child.pid as number;
  return {
    url,
    reset: async () => {
      await longestBlock(child);
      // Sets the highest memory so far to what is taken now.
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
      before = statusOf(pid, 'VmRSS');
    },
    cost: async () => ({
      block: await longestBlock(child),
      memory: Math.max(0, statusOf(pid, 'VmHWM') - before),
    }),
    memory: () => statusOf(pid, 'VmRSS'),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

async function longestBlock(child: ChildProcess): Promise<number> {
  const answer = once(child, 'message');
  child.send('measure');
  const [milliseconds] = (await answer) as [number];
  return milliseconds;
}

const statusOf = (pid: number, name: 'VmRSS' | 'VmHWM'): number =>
  Number(
    new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(
      readFileSync(`/proc/${pid}/status`, 'utf8'),
    )?.[1],
  ) * 1024;
