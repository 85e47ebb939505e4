import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { trimCredential } from '../../schema/platform/source/pasted-credential.ts';
import {
  isClaimTarget,
  type BackupOrder,
  type BackupTarget,
} from '../../schema/wire/backup-message.ts';
import { SettingsReader, type Env } from '../env.ts';

/** The settings of each Job that works with a store, which the operator writes. */
export type StoreJobConfig = {
  /** The credential of a store that speaks S3. Empty where its Secret is not there, or lacks it. */
  keys: { accessKeyId: string; secretAccessKey: string };
  /** The folder at which a target that is a volume claim is mounted. */
  mount: string;
  /** The folders between this container and the one with the programs of the database. */
  pipe: string;
  /** Those between this container and the one with pgBackRest, which has the credential, too. */
  copier: string;
  terminationLog: string;
  /** Milliseconds before each further attempt to reach the store, for tests. */
  pauses?: readonly number[];
};

export type BackupJobConfig = StoreJobConfig & { order: BackupOrder };

/** Reads the settings of the process `backup`. Throws one `StartError` with every problem. */
export function backupJobConfig(env: Env): BackupJobConfig {
  const read = new SettingsReader(env);
  // The operator of the same version writes it.
  const order = (read.readJson(['GX_BACKUP']) ??
    read.addProblem('GX_BACKUP is not set (the order, in JSON)')) as BackupOrder;
  const config: BackupJobConfig = { order, ...storeJobConfig(read, order) };
  read.finish();
  return config;
}

/** Reads the settings of each Job that works with a store. */
export const storeJobConfig = (
  read: SettingsReader,
  order: { target: BackupTarget } | undefined,
): StoreJobConfig => ({
  keys:
    order !== undefined && isClaimTarget(order.target)
      ? { accessKeyId: '', secretAccessKey: '' }
      : readStoreKeys(read.readText(['GX_BACKUP_CREDENTIAL'], CREDENTIAL_FOLDER)),
  mount: read.readText(['GX_BACKUP_MOUNT'], '/gx/store'),
  pipe: read.readText(['GX_BACKUP_PIPE'], '/gx/pipe'),
  copier: read.readText(['GX_BACKUP_COPIER'], '/gx/copier'),
  terminationLog: read.readText(['GX_TERMINATION_LOG'], '/dev/termination-log'),
});

/** The folders with secrets in files. No variable holds one, because a process of this pod may read the variables. */
const CREDENTIAL_FOLDER = '/gx/credential';

const readStoreKeys = (folder: string): StoreJobConfig['keys'] => ({
  accessKeyId: readMountedSecret(folder, 'accessKeyId') ?? '',
  secretAccessKey: readMountedSecret(folder, 'secretAccessKey') ?? '',
});

/** Returns a value of a Secret that is mounted. Undefined if it has none of this name. */
export function readMountedSecret(folder: string, name: string): string | undefined {
  try {
    const text = trimCredential(readFileSync(join(folder, name), 'utf8'));
    return text === '' ? undefined : text;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
}
