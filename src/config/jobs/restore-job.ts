import { ENCRYPTION_KEYS } from '../../schema/agent/aes-key-id.ts';
import type { RestoreOrder, VerifyOrder } from '../../schema/wire/restore-message.ts';
import { readMountedSecret, storeJobConfig, type StoreJobConfig } from './backup-job.ts';
import { readDecryptionKeys } from '../agent/encryption.ts';
import { SettingsReader, type Env } from '../env.ts';

/** The settings of `backup restore`, which the operator writes. */
export type RestoreJobConfig = StoreJobConfig & {
  order: RestoreOrder;
  /** The keys that the agents will read values with, in base64. */
  encryptionKeys: string[];
};

/** Reads the settings of `backup restore`. Throws one `StartError` with every problem. */
export function restoreJobConfig(env: Env): RestoreJobConfig {
  const read = new SettingsReader(env);
  // The operator of the same version writes it.
  const order = (read.readJson(['GX_RESTORE']) ??
    read.addProblem('GX_RESTORE is not set (the order, in JSON)')) as RestoreOrder;
  const config: RestoreJobConfig = {
    order,
    encryptionKeys: readKeys(read.readText(['GX_BACKUP_ENCRYPTION'], '/gx/encryption')),
    ...storeJobConfig(read, order),
  };
  read.finish();
  return config;
}

/** Returns the keys of encryption that files of a folder hold, named as the variables of the agent server. */
const readKeys = (folder: string): string[] =>
  readDecryptionKeys(
    new SettingsReader(
      Object.fromEntries(ENCRYPTION_KEYS.map((name) => [name, readMountedSecret(folder, name)])),
    ),
  );

/** The settings of `backup verify`, which the operator writes. */
export type VerifyJobConfig = StoreJobConfig & { order: VerifyOrder };

/** Reads the settings of `backup verify`. Throws one `StartError` with every problem. */
export function verifyJobConfig(env: Env): VerifyJobConfig {
  const read = new SettingsReader(env);
  const order = (read.readJson(['GX_VERIFY']) ??
    read.addProblem('GX_VERIFY is not set (the order, in JSON)')) as VerifyOrder;
  const config: VerifyJobConfig = { order, ...storeJobConfig(read, order) };
  read.finish();
  return config;
}
