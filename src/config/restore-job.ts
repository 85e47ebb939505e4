import type { RestoreOrder, VerifyOrder } from '../schema/wire/restore-message.ts';
import { readingKeys } from './encryption.ts';
import { SettingsReader, type Env } from './env.ts';

/** The settings of `backup restore`, which the operator writes. */
export type RestoreJobConfig = {
  order: RestoreOrder;
  keys: { accessKeyId: string; secretAccessKey: string };
  /** The keys that the agents will read values with, in base64. */
  encryptionKeys: string[];
  /** The folder that is shared with the container that restores. */
  pipe: string;
  terminationLog: string;
  /** Milliseconds before each further attempt to reach the store, for tests. */
  pauses?: readonly number[];
};

/** Reads the settings of `backup restore`. Throws one `StartError` with every problem. */
export function restoreJobConfig(env: Env): RestoreJobConfig {
  const read = new SettingsReader(env);
  const config: RestoreJobConfig = {
    // The operator of the same version writes it.
    order: (read.json(['GX_RESTORE']) ?? read.problem('GX_RESTORE is not set (the order, in JSON)')) as RestoreOrder,
    encryptionKeys: readingKeys(read),
    ...shared(read),
  };
  read.finish();
  return config;
}

/** The settings of `backup verify`, which the operator writes. */
export type VerifyJobConfig = Omit<RestoreJobConfig, 'order' | 'encryptionKeys'> & { order: VerifyOrder };

/** Reads the settings of `backup verify`. Throws one `StartError` with every problem. */
export function verifyJobConfig(env: Env): VerifyJobConfig {
  const read = new SettingsReader(env);
  const config: VerifyJobConfig = {
    order: (read.json(['GX_VERIFY']) ?? read.problem('GX_VERIFY is not set (the order, in JSON)')) as VerifyOrder,
    ...shared(read),
  };
  read.finish();
  return config;
}

/** Reads the settings of both: the credential of the store, and the folder. */
const shared = (read: SettingsReader): Pick<RestoreJobConfig, 'keys' | 'pipe' | 'terminationLog'> => ({
  keys: {
    accessKeyId: read.required(['GX_BACKUP_ACCESS_KEY_ID'], 'the key id for the store'),
    secretAccessKey: read.required(['GX_BACKUP_SECRET_ACCESS_KEY'], 'the key for the store'),
  },
  pipe: read.text(['GX_BACKUP_PIPE'], '/gx/pipe'),
  terminationLog: read.text(['GX_TERMINATION_LOG'], '/dev/termination-log'),
});
