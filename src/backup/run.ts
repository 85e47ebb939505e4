import type { BackupJobConfig } from '../config/backup-job.ts';
import { asError } from '../errors.ts';
import type { BackupDone, DatabaseFiles, DumpEntry } from '../schema/wire/backup-message.ts';
import { copyFiles } from './copy.ts';
import { dumped, dumpFacts, requireWhole } from './dump.ts';
import { expiredBackups } from '../schema/wire/backup-expiry.ts';
import { claimFolder, folderOf, requireName, type Folder } from './folder.ts';
import { begin } from './pipe.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore, type BackupStore } from './store.ts';
import { reported } from './termination.ts';
import { upload } from './upload.ts';

export const BACKUP_HELP = `gx-platform backup: sends the dump of a deployment's database to its target

Usage: node src/main.ts backup [restore|check|verify]

The operator starts it in a Job, beside a container with pg_dump. With "restore" it fetches a backup for a container with
pg_restore, with "check" it looks whether that can be, and with "verify" it fetches one for a scratch database. It takes
no options; its settings come from the environment, where the operator writes them. It writes a result or a reason as
the container's termination message.
`;

/** Makes one backup by its method, removes those that have expired, and reports how it ended. */
export const runBackup = (config: BackupJobConfig, signal: AbortSignal): Promise<void> =>
  config.order.files === undefined
    ? reported(config, { reason: 'DumpFailed', what: 'The backup', signal, work: () => backUp(config, signal) })
    : reported(config, copying(config, config.order.files, signal));

const copying = (config: BackupJobConfig, files: DatabaseFiles, signal: AbortSignal) => ({
  reason: 'CopyFailed',
  what: 'The copy',
  signal,
  work: () => copyFiles({ ...config, files }, signal),
});

/** Makes one backup, and removes those that have expired. */
export async function backUp({ order, keys, mount, pipe, pauses }: BackupJobConfig, signal: AbortSignal): Promise<BackupDone> {
  const { owner, target } = order;
  const name = requireName(order.name);
  const store = openBackupStore(target, { keys, mount, signal, pauses });
  const folder = folderOf(target, owner);
  await claimFolder(store, folder, owner);
  await begin(pipe);
  const sent = await upload(store, `${folder.dumps}${name}`, {
    source: dumped(pipe, signal),
    whole: () => requireWhole(pipe, signal),
  });
  const facts = await dumpFacts(pipe);
  const until = new Date().toISOString();
  const entry: DumpEntry = { name, method: 'dump', owner, ...facts, until, ...sent, holds: order.holds };
  await store.write(`${folder.catalogue}${name}.json`, `${JSON.stringify(entry)}\n`);
  const trouble = await tidy(store, folder, order).catch((error: unknown) => asError(error).message);
  return {
    from: entry.from,
    until,
    bytes: sent.bytes,
    migration: entry.migration,
    keys: entry.keys,
    ...(trouble !== undefined && { trouble }),
  };
}

/** Removes expired backups, and all that failed ones have left. Each leaves the catalogue before its data goes. */
async function tidy(store: BackupStore, folder: Folder, { keep, name }: BackupJobConfig['order']): Promise<undefined> {
  const listed = (await store.keysBelow(folder.catalogue)).map((key) => key.slice(folder.catalogue.length).replace(/\.json$/, ''));
  const old = expiredBackups(listed, keep, new Date());
  for (const each of old) await store.remove(`${folder.catalogue}${each}.json`);
  const kept = new Set([...listed.filter((each) => !old.includes(each)), name]);
  for (const key of await store.keysBelow(folder.dumps)) if (!kept.has(key.slice(folder.dumps.length))) await store.remove(key);
  for (const { key, id } of await uploadsLeft(store, folder)) await store.abandon(key, id);
}

/** Returns uploads that were cut off. A credential that may not list them leaves them to the bucket. */
const uploadsLeft = (store: BackupStore, folder: Folder): Promise<{ key: string; id: string }[]> =>
  store.begunBelow(folder.all).catch((error: unknown) => {
    if (error instanceof BackupFailed && error.reason === 'TargetRefused') return [];
    throw error;
  });
