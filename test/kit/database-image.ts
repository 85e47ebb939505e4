import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { until } from './until.ts';

const run = promisify(execFile);
const POSTGRES_ID = 26;
/** The folders of a pod that a container of the database's image sees, as paths there. */
const SEEN = { data: '/var/lib/postgresql/data', socket: '/var/run/postgresql', archive: '/etc/gx-archive', scripts: '/usr/local/bin' };

/** A container of the database's image without pods: its packages and scripts, and a volume. Mounting needs root. */
export type DatabaseContainer = {
  /** Writes files into the folder that the pod's Secret would be. */
  putArchive(files: Record<string, string>): void;
  removeArchive(): Promise<void>;
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
touch "$root/etc/hosts" && mount --bind /dev "$root/dev" && mount -t proc proc "$root/proc" && mount -t tmpfs tmpfs "$root/tmp" &&
  mount --bind /etc/hosts "$root/etc/hosts" || exit 1
${Object.entries(SEEN)
  .map(([name, at]) => `mount --bind "$folder/${name}" "$root${at}" || exit 1`)
  .join('\n')}
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
  chmodSync(folder, 0o755);
  cpSync('dev/images/postgres', at('scripts'), { recursive: true });
  const inside = (command: readonly string[]): [string, string[]] => [
    'unshare',
    ['--mount', '--propagation', 'private', 'sh', '-c', ENTER, 'sh', rootBeside(pgbackrest), folder, ...command],
  ];
  let postgres: ChildProcess | undefined;
  const servers: ChildProcess[] = [];
  const runInside = async (command: readonly string[]): Promise<string> =>
    (await run(...inside(command), { timeout: 120_000 })).stdout.trim();
  const sql = (statement: string): Promise<string> =>
    runInside(['psql', '-X', '-qAt', '-v', 'ON_ERROR_STOP=1', '-U', 'postgres', '-d', 'gx', '-c', statement]);
  const gone = async (how: (child: ChildProcess) => boolean): Promise<void> => {
    if (postgres === undefined || postgres.exitCode !== null || postgres.signalCode !== null) return;
    const ended = once(postgres, 'exit');
    how(postgres);
    await ended;
  };
  const kill = (): Promise<void> => gone((child) => child.kill('SIGKILL'));
  return {
    putArchive: (files) => {
      for (const [name, text] of Object.entries(files)) writeArchive(path.join(at('archive'), name), text);
    },
    removeArchive: () => rm(path.join(at('archive'), 'push'), { force: true }),
    run: runInside,
    serve: (command) => void servers.push(spawn(...inside(command), { stdio: 'ignore' })),
    sql,
    start: async () => {
      postgres = spawn(...inside(['gx-postgres', '-c', 'listen_addresses=', '-c', 'fsync=off']), { stdio: 'ignore' });
      await until('Postgres answers and takes writes', async () => (await sql('select pg_is_in_recovery()')) === 'f');
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

/** The owner is the image's user, and a key is for nobody else. */
function writeArchive(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 });
  chownSync(file, POSTGRES_ID, POSTGRES_ID);
}
