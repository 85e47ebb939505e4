import type { BackupJobConfig } from '../config/jobs/backup-job.ts';
import { toError } from '../errors.ts';
import type { BackupDone, DatabaseFiles, DumpEntry } from '../schema/wire/backup-message.ts';
import { copyFiles } from './copy.ts';
import { readDump, readDumpFacts, requireWhole } from './dump.ts';
import { listExpiredBackups } from '../schema/wire/backup-expiry.ts';
import { claimFolder, getBackupFolder, requireName, type Folder } from './folder.ts';
import { begin } from './pipe.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore, type BackupStore } from './store.ts';
import { runAndReport } from './termination.ts';
import { upload } from './upload.ts';

export const BACKUP_HELP = `gx-platform backup: sends the dump of a deployment's database to its target

Usage: node src/main.ts backup [restore|check|verify]

The operator starts it in a Job, beside a container with pg_dump. With "restore" it fetches a backup for a container with
pg_restore, with "check" it checks whether that is possible, and with "verify" it fetches one for a scratch database. It takes
no options; its settings come from the environment, where the operator writes them. It writes a result or a reason as
the container's termination message.
`;

/** Makes one backup by its method, removes those that have expired, and reports how it ended. */
export const runBackup = (config: BackupJobConfig, signal: AbortSignal): Promise<void> =>
  config.order.files === undefined
    ? runAndReport(config, {
        reason: 'DumpFailed',
        what: 'The backup',
        signal,
        work: () => createBackup(config, signal),
      })
    : runAndReport(config, buildCopyWork(config, config.order.files, signal));

const buildCopyWork = (config: BackupJobConfig, files: DatabaseFiles, signal: AbortSignal) => ({
  reason: 'CopyFailed',
  what: 'The copy',
  signal,
  work: () => copyFiles({ ...config, files }, signal),
});

/** Makes one backup, and removes those that have expired. */
export async function createBackup(
  { order, keys, mount, pipe, pauses }: BackupJobConfig,
  signal: AbortSignal,
): Promise<BackupDone> {
  const { owner, target } = order;
  const name = requireName(order.name);
  const store = openBackupStore(target, keys, mount, signal, pauses);
  const folder = getBackupFolder(target, owner);
  await claimFolder(store, folder, owner);
  await begin(pipe);
  const sent = await upload(store, `${folder.dumps}${name}`, {
    source: readDump(pipe, signal),
    whole: () => requireWhole(pipe, signal),
  });
  const facts = await readDumpFacts(pipe);
  const until = new Date().toISOString();
  const entry: DumpEntry = {
    name,
    method: 'dump',
    owner,
    ...facts,
    until,
    ...sent,
    holds: order.holds,
  };
  await store.write(`${folder.catalogue}${name}.json`, `${JSON.stringify(entry)}\n`);
  const trouble = await removeExpired(store, folder, order).catch(
    (error: unknown) => toError(error).message,
  );
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
async function removeExpired(
  store: BackupStore,
  folder: Folder,
  { keep, name }: BackupJobConfig['order'],
): Promise<undefined> {
  const listed = (await store.listKeys(folder.catalogue)).map((key) =>
    key.slice(folder.catalogue.length).replace(/\.json$/, ''),
  );
  const old = listExpiredBackups(listed, keep, new Date());
  for (const each of old) await store.remove(`${folder.catalogue}${each}.json`);
  const kept = new Set([...listed.filter((each) => !old.includes(each)), name]);
  for (const key of await store.listKeys(folder.dumps))
    if (!kept.has(key.slice(folder.dumps.length))) await store.remove(key);
  for (const { key, id } of await listAbandonedUploads(store, folder))
    await store.abortUpload(key, id);
}

/** Returns uploads that were cut off. A credential that may not list them leaves them to the bucket. */
const listAbandonedUploads = (
  store: BackupStore,
  folder: Folder,
): Promise<{ key: string; id: string }[]> =>
  store.listUploads(folder.all).catch((error: unknown) => {
    if (error instanceof BackupFailed && error.reason === 'TargetRefused') return [];
    throw error;
  });
