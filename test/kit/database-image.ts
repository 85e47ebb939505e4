import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { until } from './until.ts';

const run = promisify(execFile);
const POSTGRES_ID = 26;
/** The folders of a pod that a container of the database's image sees, as paths there. */
const SEEN = {
  data: '/var/lib/postgresql/data',
  socket: '/var/run/postgresql',
  archive: '/etc/gx-archive',
  scripts: '/usr/local/bin',
};

/** A container of the database's image without pods: its packages and scripts, and a volume. Mounting needs root. */
export type DatabaseContainer = {
  /** The folder that it shares with the other container of a Job, at the same path. */
  pipe: string;
  /** The address of its database, for processes of this machine. */
  uri: string;
  /** Writes files into the folder that the pod's Secret would be. */
  putArchive(files: Record<string, string>): void;
  removeArchive(name?: string): Promise<void>;
  /** Runs a command in the container, and returns its output. */
  run(command: readonly string[]): Promise<string>;
  /** Runs a command that serves, until the container is removed. */
  serve(command: readonly string[]): void;
  sql(statement: string): Promise<string>;
  start(): Promise<void>;
  /** Kills Postgres and all that it has started, as with the node. */
  kill(): Promise<void>;
  /** Stops Postgres, as the end of a pod does. */
  end(): Promise<void>;
  remove(): Promise<void>;
};

/** Mounts what a container sees for this process alone, and becomes the command as the image's user. */
const ENTER = `root=$1 folder=$2; shift 2
for one in dev proc tmp ${Object.values(SEEN).join(' ')}; do mkdir -p "$root/$one"; done
echo 'postgres:x:26:' > "$root/etc/group" && echo 'postgres:x:26:26::/tmp:/bin/false' > "$root/etc/passwd" &&
  touch "$root/etc/hosts" && mount --bind /dev "$root/dev" && mount -t proc proc "$root/proc" && mount -t tmpfs tmpfs "$root/tmp" &&
  mount --bind /etc/hosts "$root/etc/hosts" || exit 1
${Object.entries(SEEN)
  .map(([name, at]) => `mount --bind "$folder/${name}" "$root${at}" || exit 1`)
  .join('\n')}
mkdir -p "$root$folder/pipe" && mount --bind "$folder/pipe" "$root$folder/pipe" || exit 1
exec chroot --userspec=${POSTGRES_ID}:${POSTGRES_ID} "$root" /usr/bin/env -i LC_ALL=C PGDATA=${SEEN.data}/pgdata \\
  PATH=/usr/lib/postgresql/17/bin:/usr/local/bin:/usr/bin:/bin POSTGRES_USER=gx POSTGRES_DB=gx POSTGRES_PASSWORD=unused \\
  POSTGRES_ADMIN_PASSWORD=unused "$@"`;

export async function databaseContainer(): Promise<DatabaseContainer> {
  const { pgbackrest } = await ensureTools(['pgbackrest']);
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-database-'));
  const at = (name: keyof typeof SEEN): string => path.join(folder, name);
  for (const name of ['data', 'socket', 'archive', 'scripts'] as const) {
    mkdirSync(at(name));
    chownSync(at(name), POSTGRES_ID, POSTGRES_ID);
  }
  // Both containers of a Job have one user; here its programs read what root has written.
  const pipe = path.join(folder, 'pipe');
  mkdirSync(pipe);
  chownSync(pipe, 0, POSTGRES_ID);
  chmodSync(pipe, 0o2775);
  chmodSync(folder, 0o755);
  cpSync('dev/images/postgres', at('scripts'), { recursive: true });
  const inside = (command: readonly string[]): [string, string[]] => [
    'unshare',
    [
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      ENTER,
      'sh',
      rootBeside(pgbackrest),
      folder,
      ...command,
    ],
  ];
  let postgres: ChildProcess | undefined;
  const servers: ChildProcess[] = [];
  const runInside = async (command: readonly string[]): Promise<string> =>
    (await run(...inside(command), { timeout: 120_000 })).stdout.trim();
  const sql = (statement: string): Promise<string> =>
    runInside([
      'psql',
      '-X',
      '-qAt',
      '-v',
      'ON_ERROR_STOP=1',
      '-U',
      'postgres',
      '-d',
      'gx',
      '-c',
      statement,
    ]);
  const gone = async (how: (child: ChildProcess) => boolean): Promise<void> => {
    if (postgres === undefined || postgres.exitCode !== null || postgres.signalCode !== null)
      return;
    const ended = once(postgres, 'exit');
    how(postgres);
    await ended;
  };
  const kill = (): Promise<void> => gone((child) => child.kill('SIGKILL'));
  return {
    pipe,
    uri: `postgresql://gx@localhost/gx?host=${at('socket')}`,
    putArchive: (files) => {
      for (const [name, text] of Object.entries(files))
        writeArchive(path.join(at('archive'), name), text);
    },
    removeArchive: (name = 'push') => rm(path.join(at('archive'), name), { force: true }),
    run: runInside,
    serve: (command) => void servers.push(spawn(...inside(command), { stdio: 'ignore' })),
    sql,
    start: async () => {
      const log = openSync(path.join(folder, 'log'), 'w');
      postgres = spawn(...inside(['gx-postgres', '-c', 'listen_addresses=', '-c', 'fsync=off']), {
        stdio: ['ignore', log, log],
      });
      closeSync(log);
      // A volume that is being filled has a server of its own for that.
      const isFilled = (): boolean => !existsSync(path.join(at('data'), 'refilling'));
      const takesWrites = async (): Promise<boolean> =>
        isFilled() && (await sql('select pg_is_in_recovery()')) === 'f';
      await until('Postgres answers and takes writes', takesWrites, 120).catch((error: unknown) => {
        throw new Error(readFileSync(path.join(folder, 'log'), 'utf8').slice(-3000), {
          cause: error,
        });
      });
    },
    kill,
    end: () => gone((child) => child.kill('SIGINT')),
    remove: async () => {
      await kill();
      for (const server of servers) server.kill('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The root of the package stands beside its command. */
const rootBeside = (command: string): string => path.join(path.dirname(command), 'root');

/** The owner and the mode are those of a Secret in a pod: the group of the image's user reads it. */
function writeArchive(file: string, text: string): void {
  writeFileSync(file, text);
  chmodSync(file, 0o440);
  chownSync(file, 0, POSTGRES_ID);
}
