import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, globSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../kit/until.ts';

/** The connection string of a server's database, and the number of runs that it executes at a time. */
export type OwnSettings = { database: string; slots: number };

/** A server under test that answers. */
export type BenchServer = {
  url: string;
  pid: number;
  /** What a server of this project was started with. */
  own?: OwnSettings;
  /** Takes all processor time from the server until `resume`. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
};

type Command = {
  command: string;
  args: string[];
  env?: Record<string, string>;
  cwd?: string;
  port: number;
  health?: string;
};

/**
 * Starts a server as a process of its own and waits until it answers. Its output goes to a file, as it would in a pod.
 */
export async function startServer({
  command,
  args,
  env = {},
  cwd,
  port,
  health,
}: Command): Promise<BenchServer> {
  const logFile = join(mkdtempSync(join(tmpdir(), 'gx-bench-log-')), 'log');
  const log = openSync(logFile, 'w');
  const child = spawn(command, args, {
    stdio: ['ignore', log, log],
    env: { PATH: process.env.PATH ?? '', ...env },
    ...(cwd && { cwd }),
  });
  closeSync(log);
  const url = `http://127.0.0.1:${port}`;
  const answers = async (): Promise<boolean> =>
    child.exitCode !== null ||
    (health === undefined
      ? listens(port)
      : (await fetch(url + health).catch(() => undefined))?.ok === true);
  await until(`${command} answers`, answers, 60).catch(() => ended(child));
  if (child.exitCode !== null || child.signalCode !== null)
    throw new Error(`${command} does not start: ${readFileSync(logFile, 'utf8').slice(-2000)}`);
  const pid = child.pid!;
  const signal = (name: NodeJS.Signals): void => tree(pid).forEach((one) => signalled(one, name));
  return {
    url,
    pid,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    stop: () => ended(child),
  };
}

/** A process that has ended by itself gets no signal. */
function signalled(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns a process and all that it started, directly or not. */
function tree(pid: number): number[] {
  const children = globSync(`/proc/${pid}/task/*/children`).flatMap((file) =>
    readFileSync(file, 'utf8').split(' ').filter(Boolean),
  );
  return [pid, ...children.flatMap((child) => tree(Number(child)))];
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const heard = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return heard;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Returns the megabytes of a process, and of each that it started. A page that they share is divided among them. */
export const proportionalMegabytes = (pid: number): number[] =>
  tree(pid).map(
    (one) =>
      Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, 'utf8'))?.[1]) / 1024,
  );

/** Returns the megabytes of memory that a process holds. */
export function residentMegabytes(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}
