import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  openSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Client } from 'pg';
import { readPostgresAccount } from '../../src/agent/dev/embedded-postgres/account.ts';
import { prepareBinaries } from '../../src/agent/dev/embedded-postgres/binaries.ts';
import { buildPostgresEnvironment } from '../../src/agent/dev/embedded-postgres/initialise.ts';
import { until } from '../kit/until.ts';

/*
 * A volume of its own with what runs on it in a database's pod: the image's scripts and a real Postgres. Mounting needs
 * root.
 */

const MIB = 2 ** 20;
const SCRIPTS = path.resolve('dev/images/postgres');

export type SmallVolume = {
  /** Ends when Postgres does. */
  startPostgres(): ChildProcess;
  answers(): Promise<void>;
  /** Returns the guard's next words, but not those of a start at which nothing has changed. */
  guardTells(): Promise<string>;
  startGuard(): void;
  stopGuard(): Promise<void>;
  connect(): Promise<Client>;
  /** Creates or resizes a file so that this much of the volume is left. */
  leave(mebibytes: number): void;
  has(name: string): boolean;
  /** Gives a file another name, or its own name back. */
  hide(name: string, hidden: boolean): void;
  log(): string;
  remove(): Promise<void>;
};

export function smallVolume(mebibytes: number): SmallVolume {
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-volume-'));
  chmodSync(folder, 0o755);
  const [volume, socket, bin, log] = ['volume', 'socket', 'bin', 'log'].map((name) =>
    path.join(folder, name),
  ) as [string, string, string, string];
  for (const name of [volume, socket, bin]) mkdirSync(name);
  // Postgres's account need not be able to read this checkout.
  const image = path.join(folder, 'image');
  cpSync(SCRIPTS, image, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0777`, 'tmpfs', volume]);
  chmodSync(socket, 0o777);
  writeFileSync(
    path.join(bin, 'psql'),
    `#!/bin/sh\nexec ${process.execPath} ${path.resolve('test/crash/psql.ts')} "$@"\n`,
    {
      mode: 0o755,
    },
  );
  const account = readPostgresAccount();
  const binaries = prepareBinaries(account);
  const env = {
    ...buildPostgresEnvironment(binaries),
    PATH: `${binaries}:${bin}:${image}:/usr/bin:/bin`,
    PGDATA: path.join(volume, 'pgdata'),
    PGHOST: socket,
    POSTGRES_USER: 'postgres',
    POSTGRES_PASSWORD: 'unused',
  };
  const running = new Set<ChildProcess>();
  const keep = (child: ChildProcess): ChildProcess => {
    running.add(child);
    child.on('exit', () => running.delete(child));
    return child;
  };
  let guard: ChildProcess | undefined;
  const startGuard = (): ChildProcess =>
    (guard = keep(
      spawn(path.join(image, 'gx-postgres-guard'), [path.join(folder, 'message'), '0.2'], {
        env: { ...env, LD_LIBRARY_PATH: '' },
        stdio: 'ignore',
      }),
    ));
  const free = (): number => {
    const { bavail, bsize } = statfsSync(volume);
    return (bavail * bsize) / MIB;
  };
  const filler = path.join(volume, 'filler');
  const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  const connect = async (): Promise<Client> => {
    const client = new Client({ host: socket, user: 'postgres', database: 'postgres' });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  return {
    startPostgres: () => {
      const args = [
        '-c',
        `unix_socket_directories=${socket}`,
        '-c',
        'listen_addresses=',
        '-c',
        'shared_buffers=16MB',
        '-c',
        'logging_collector=off',
      ];
      const said = openSync(log, 'a');
      const child = spawn(path.join(image, 'gx-postgres'), args, {
        env,
        stdio: ['ignore', said, said],
        ...account,
      });
      closeSync(said);
      return keep(child);
    },
    answers: async () =>
      void (await until(
        'Postgres answers',
        async () => (await connect()).end().then(() => true),
        60,
      )),
    guardTells: async () => {
      const [code] = (await once(
        guard !== undefined && running.has(guard) ? guard : startGuard(),
        'exit',
      )) as [number];
      if (code !== 0) throw new Error(`the guard ended with ${code}`);
      startGuard();
      return readFileSync(path.join(folder, 'message'), 'utf8').trim();
    },
    startGuard: () => void startGuard(),
    stopGuard: async () => {
      if (guard !== undefined && running.has(guard)) await end(guard, 'SIGKILL');
    },
    connect,
    leave: (wanted) => {
      // The file never shrinks in between, because the guard may be looking.
      const length = Math.floor(
        (existsSync(filler) ? statSync(filler).size : 0) + (free() - wanted) * MIB,
      );
      if (free() > wanted) execFileSync('fallocate', ['--length', String(length), filler]);
      else truncateSync(filler, length);
    },
    has: (name) => existsSync(path.join(volume, name)),
    hide: (name, hidden) => {
      const [shown, other] = [path.join(volume, name), path.join(volume, `${name}.hidden`)];
      renameSync(hidden ? shown : other, hidden ? other : shown);
    },
    log: () => readFileSync(log, 'utf8'),
    remove: async () => {
      for (const child of running) await end(child, child === guard ? 'SIGKILL' : 'SIGINT');
      execFileSync('umount', ['--lazy', volume]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
