import { spawn, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:net';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { StartError } from '../../../errors.ts';
import {
  readPostgresAccount,
  mayEnter,
  requireFolderOwner,
  ensurePrivateFolder,
  ensureSharedFolder,
  type Account,
} from './account.ts';
import { prepareBinaries } from './binaries.ts';
import { buildPostgresEnvironment, ensureDataFolder, USER } from './initialise.ts';
import { claim } from './owner.ts';

export type EmbeddedPostgres = {
  /** The address of the database `postgres`, as the superuser. */
  uri: string;
  /** Settles when the server has ended, whether asked to or not. */
  ended: Promise<void>;
  stop(): Promise<void>;
};

export type PostgresOptions = {
  /** The folder of everything: data, password, log. */
  folder: string;
  /** The name that is reported to a second start on the same data. */
  owner: string;
  /** False for tests: data is lost when the machine stops, and nothing waits for the disk. */
  durable: boolean;
  reset?: boolean;
  signal?: AbortSignal;
};

/** Milliseconds that a server has to answer; recovery after a crash takes the longest. */
const READY_WITHIN = 30_000;
const LOOK_EVERY = 10;

/**
 * Starts Postgres and, beside it, a watcher that reads from the other end of our pipe. The pipe ends when we close it,
 * and also when we are gone for whatever reason. The watcher then stops Postgres, and gives clients that are leaving a
 * second. A session of its own keeps the terminal's Ctrl-C from reaching Postgres before its clients leave.
 */
const SUPERVISE = `"$@" 3<&- & server=$!
(read -r _ <&3; exec 3<&-; kill -TERM $server; sleep 1; kill -INT $server) >/dev/null 2>&1 & watcher=$!
exec 3<&-
wait $server; code=$?
kill $watcher 2>/dev/null
exit $code`;

/** Starts Postgres 18 on the folder's data, which it makes if there is none. */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const { folder, account } = prepareFolder(options.folder, readPostgresAccount());
  const bin = prepareBinaries(account);
  const release = await claim(folder, options.owner);
  try {
    if (options.reset === true)
      await rm(path.join(folder, 'data'), { recursive: true, force: true });
    const { data, password } = await ensureDataFolder({ folder, bin, account });
    options.signal?.throwIfAborted();
    const port = await findFreePort();
    const child = spawnPostgres(bin, folder, data, account, buildSettings(port, options.durable));
    const ended = waitForExit(child).then(release);
    await waitUntilReady(child, { folder, data, port }, options).catch(async (error: unknown) => {
      closePipe(child);
      await ended;
      throw error;
    });
    return {
      uri: `postgresql://${USER}:${password}@127.0.0.1:${port}/postgres`,
      ended,
      stop: () => (closePipe(child), ended),
    };
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Returns the folder itself or, where Postgres' account can't enter it, another one to which it links. An existing
 * folder keeps its owner.
 */
function prepareFolder(
  asked: string,
  account: Account | undefined,
): { folder: string; account: Account | undefined } {
  const parent = path.dirname(asked);
  mkdirSync(parent, { recursive: true });
  if (existsSync(asked)) {
    const folder = realpathSync(asked);
    return { folder, account: requireFolderOwner(folder, account) };
  }
  // Only a link to a folder that is gone may still stand there.
  rmSync(asked, { force: true });
  const here = mayEnter(parent, account);
  const name = createHash('sha256').update(asked).digest('hex').slice(0, 16);
  const folder = here ? asked : path.join(ensureSharedFolder(account), name);
  ensurePrivateFolder(folder, account);
  if (!here) symlinkSync(folder, asked);
  return { folder, account };
}

function spawnPostgres(
  bin: string,
  folder: string,
  data: string,
  account: Account | undefined,
  args: string[],
): ChildProcess {
  const log = openSync(path.join(folder, 'log'), 'w', 0o600);
  const child = spawn(
    '/bin/sh',
    ['-c', SUPERVISE, 'sh', path.join(bin, 'postgres'), '-D', data, ...args],
    {
      cwd: folder,
      env: buildPostgresEnvironment(bin),
      stdio: ['ignore', log, log, 'pipe'],
      detached: true,
      ...account,
    },
  );
  child.on('error', () => undefined);
  pipeTo(child).on('error', () => undefined);
  closeSync(log);
  return child;
}

const pipeTo = (child: ChildProcess): Writable => child.stdio[3] as Writable;
const waitForExit = async (child: ChildProcess): Promise<void> => {
  // A shell that could not be started is gone, too.
  await once(child, 'exit').catch(() => undefined);
  pipeTo(child).destroy();
};
const closePipe = (child: ChildProcess): void => void pipeTo(child).end();

function buildSettings(port: number, durable: boolean): string[] {
  const all = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    wal_level: 'minimal',
    max_wal_senders: 0,
    // A crash of Postgres loses the last moments at most, never consistency.
    synchronous_commit: 'off',
    log_min_messages: 'warning',
    ...(!durable && { fsync: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/**
 * The lines of postmaster.pid that hold the port and the status, which pg_ctl reads, too. The port tells this server's
 * file from one that a crash left.
 */
const PORT_LINE = 3;
const STATUS_LINE = 7;

async function waitUntilReady(
  child: ChildProcess,
  at: { folder: string; data: string; port: number },
  { signal }: PostgresOptions,
): Promise<void> {
  const deadline = Date.now() + READY_WITHIN;
  const file = path.join(at.data, 'postmaster.pid');
  while (Date.now() < deadline) {
    signal?.throwIfAborted();
    if (child.exitCode !== null || child.signalCode !== null) break;
    const lines = (await readText(file)).split('\n');
    if (lines[PORT_LINE] === String(at.port) && lines[STATUS_LINE]?.trim() === 'ready') return;
    await wait(LOOK_EVERY);
  }
  const log = readFileSync(path.join(at.folder, 'log'), 'utf8');
  const reason =
    /(?:FATAL|PANIC):\s*(.*)/.exec(log)?.[1] ?? log.trim().split('\n').at(-1) ?? 'no reason given';
  throw new StartError(
    `Postgres does not start on ${at.data}: ${reason} (its log is ${path.join(at.folder, 'log')}).`,
  );
}

/** Returns the text of a file, or none while it is not there. A server removes the one that a crash left. */
async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
