import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureTools } from '../../dev/cluster/parts.ts';
import type { BackupTarget } from '../../src/schema/wire/backup-message.ts';
import { freePort } from './agent-server.ts';
import { S3_KEYS, startS3Server } from './s3-server.ts';
import { until } from './until.ts';

/** A place for backups that a test looks into. */
export type TestedStore = {
  target: BackupTarget;
  /** The folder at which a volume claim is mounted. */
  mount: string;
  /** Returns the keys of all objects, and of those that are not complete. */
  keys(): Promise<string[]>;
  content(key: string): Promise<Buffer>;
  stop(): Promise<void>;
};

/** Returns a folder in the place of a volume claim that is mounted. */
export async function claimStore(): Promise<TestedStore> {
  const mount = await mkdtemp(join(tmpdir(), 'gx-claim-'));
  return { ...claimAt(mount), stop: () => rm(mount, { recursive: true }) };
}

/** Returns a volume of so many MiB in the place of a volume claim that is mounted. */
export async function smallClaimStore(mebibytes: number): Promise<TestedStore> {
  const mount = await mkdtemp(join(tmpdir(), 'gx-claim-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', mount]);
  const stop = async (): Promise<void> => {
    execFileSync('umount', [mount]);
    await rm(mount, { recursive: true });
  };
  return { ...claimAt(mount), stop };
}

const claimAt = (mount: string): Omit<TestedStore, 'stop'> => ({
  target: { claim: 'gx-backups', prefix: 'gx' },
  mount,
  keys: async () => {
    const found = await readdir(mount, { recursive: true, withFileTypes: true });
    const files = found
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name));
    return files.map((path) => path.slice(mount.length + 1)).toSorted();
  },
  content: (key) => readFile(join(mount, key)),
});

/** Starts a server of rclone that speaks S3, with one bucket, whose objects are files of a folder. */
async function rcloneStore(): Promise<TestedStore> {
  const { rclone } = await ensureTools(['rclone']);
  const folder = await mkdtemp(join(tmpdir(), 'gx-rclone-'));
  const bucket = join(folder, 'data', 'backups');
  await mkdir(bucket, { recursive: true });
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  const keys = `${S3_KEYS.accessKeyId},${S3_KEYS.secretAccessKey}`;
  const args = [
    'serve',
    's3',
    '--addr',
    new URL(endpoint).host,
    '--auth-key',
    keys,
    '--config',
    join(folder, 'none'),
    join(folder, 'data'),
  ];
  const server = spawn(rclone, args, { stdio: 'ignore' });
  await until('rclone answers', async () => (await fetch(endpoint)).status > 0);
  const stop = async (): Promise<void> => {
    const closed = once(server, 'exit');
    server.kill('SIGKILL');
    await closed;
    await rm(folder, { recursive: true });
  };
  const target = {
    endpoint,
    bucket: 'backups',
    region: 'eu-test-1',
    prefix: 'gx',
    pathStyle: true,
  };
  return { ...claimAt(bucket), target, mount: '/none', stop };
}

/** The kinds of places for backups. */
export const STORES: Readonly<Record<string, () => Promise<TestedStore>>> = {
  'a bucket of versitygw': async () => ({ ...(await startS3Server()), mount: '/none' }),
  'a bucket of rclone': rcloneStore,
  'a volume claim': claimStore,
};
