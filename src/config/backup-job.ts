import { isClaimTarget, type BackupOrder, type BackupTarget } from '../schema/wire/backup-message.ts';
import { SettingsReader, type Env } from './env.ts';

/** The settings of each Job that works with a store, which the operator writes. */
export type StoreJobConfig = {
  /** The credential of a store that speaks S3. */
  keys: { accessKeyId: string; secretAccessKey: string };
  /** The folder at which a target that is a volume claim is mounted. */
  mount: string;
  /** The folder that is shared with the container that works with the database. */
  pipe: string;
  terminationLog: string;
  /** Milliseconds before each further attempt to reach the store, for tests. */
  pauses?: readonly number[];
};

/** The settings of the process `backup`. */
export type BackupJobConfig = StoreJobConfig & { order: BackupOrder };

/** Reads the settings of the process `backup`. Throws one `StartError` with every problem. */
export function backupJobConfig(env: Env): BackupJobConfig {
  const read = new SettingsReader(env);
  // The operator of the same version writes it.
  const order = (read.json(['GX_BACKUP']) ?? read.problem('GX_BACKUP is not set (the order, in JSON)')) as BackupOrder;
  const config: BackupJobConfig = { order, ...storeJobConfig(read, order) };
  read.finish();
  return config;
}

/** Reads the settings of each Job that works with a store. */
export const storeJobConfig = (read: SettingsReader, order: { target: BackupTarget } | undefined): StoreJobConfig => ({
  keys: order !== undefined && isClaimTarget(order.target) ? { accessKeyId: '', secretAccessKey: '' } : keysOf(read),
  mount: read.text(['GX_BACKUP_MOUNT'], '/gx/store'),
  pipe: read.text(['GX_BACKUP_PIPE'], '/gx/pipe'),
  terminationLog: read.text(['GX_TERMINATION_LOG'], '/dev/termination-log'),
});

const keysOf = (read: SettingsReader): StoreJobConfig['keys'] => ({
  accessKeyId: read.required(['GX_BACKUP_ACCESS_KEY_ID'], 'the key id for the store'),
  secretAccessKey: read.required(['GX_BACKUP_SECRET_ACCESS_KEY'], 'the key for the store'),
});
