import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackupTarget } from '../../src/schema/wire/backup-message.ts';
import { startS3Server } from './s3-server.ts';

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
    const files = found.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
    return files.map((path) => path.slice(mount.length + 1)).toSorted();
  },
  content: (key) => readFile(join(mount, key)),
});

/** The kinds of places for backups. */
export const STORES: Readonly<Record<string, () => Promise<TestedStore>>> = {
  'a bucket of versitygw': async () => ({ ...(await startS3Server()), mount: '/none' }),
  'a volume claim': claimStore,
};
