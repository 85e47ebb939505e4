import { readFile } from 'node:fs/promises';
import type { RestoreJobConfig } from '../config/jobs/restore-job.ts';
import type { RestoreDone } from '../schema/wire/restore-message.ts';
import { chooseCatalogueEntry, requireReadable } from './choose.ts';
import { writeDump, readDatabaseState, requireRestored } from './feed.ts';
import { getBackupFolder } from './folder.ts';
import { takeFilled } from './filled.ts';
import { readFinalSql, QUIET_SQL } from './last-sql.ts';
import { parseMarker } from './marker.ts';
import { begin, giveUp, writeOrder } from './pipe.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore } from './store.ts';
import { runAndReport } from './termination.ts';

/** Restores one backup into an empty database, and reports how it ended. */
export const runRestore = (config: RestoreJobConfig, signal: AbortSignal): Promise<void> =>
  runAndReport(config, {
    reason: 'RestoreFailed',
    what: 'The restore',
    signal,
    work: () => (config.order.filled === true ? takeFilled : restoreBackup)(config, signal),
  });

/** Looks whether a backup can be restored, and reports which one it is. */
export const runCheck = (config: RestoreJobConfig, signal: AbortSignal): Promise<void> =>
  runAndReport(config, {
    reason: 'RestoreFailed',
    what: 'The check of the backup',
    signal,
    work: () => checkBackup(config, signal),
  });

/** Looks whether a backup can be restored. It reads the catalogue alone. */
export async function checkBackup(
  { order, keys, mount, encryptionKeys, pipe, pauses }: RestoreJobConfig,
  signal: AbortSignal,
): Promise<RestoreDone> {
  const { postgres } = await readDatabaseState(pipe, signal);
  const store = openBackupStore(order.target, keys, mount, signal, pauses);
  const folder = getBackupFolder(order.target, order.owner);
  const entry = await chooseCatalogueEntry(store, folder, order);
  requireReadable(entry, { postgres, keys: encryptionKeys });
  const done = { backup: `${order.owner.id}/${entry.name}`, from: entry.from };
  if (entry.method === 'continuous') return { ...done, copy: entry.copy };
  if (!(await store.listKeys(folder.dumps)).includes(`${folder.dumps}${entry.name}`))
    throw new BackupFailed(
      'BackupMissing',
      `The catalogue has backup ${entry.name}, but ${folder.dumps} does not hold its dump.`,
    );
  return done;
}

/**
 * Restores one backup. The other container does it in one transaction, which it commits only after all bytes have
 * proved to be those of the backup: a restore that fails leaves the database empty.
 */
export async function restoreBackup(
  { order, keys, mount, encryptionKeys, pipe, pauses }: RestoreJobConfig,
  signal: AbortSignal,
): Promise<RestoreDone> {
  const { postgres, state } = await readDatabaseState(pipe, signal);
  const marker = parseMarker(state);
  if (marker?.restoredInto === order.into) {
    // A former Job has done it, and nobody heard of that.
    await giveUp(pipe);
    return { backup: marker.backup, from: marker.from };
  }
  if (state !== 'empty')
    throw new BackupFailed(
      'DatabaseNotEmpty',
      'The database already holds data. None of it was changed.',
    );
  const store = openBackupStore(order.target, keys, mount, signal, pauses);
  const folder = getBackupFolder(order.target, order.owner);
  const entry = await chooseCatalogueEntry(store, folder, order);
  requireReadable(entry, { postgres, keys: encryptionKeys });
  if (entry.method !== 'dump')
    throw new BackupFailed('RestoreFailed', `Backup ${entry.name} is not a dump.`);
  const done = { backup: `${order.owner.id}/${entry.name}`, from: entry.from };
  if (!order.resume) await writeOrder(pipe, 'quiet.sql', await readFile(QUIET_SQL, 'utf8'));
  await writeOrder(pipe, 'marker.sql', await readFinalSql({ ...done, restoredInto: order.into }));
  await begin(pipe);
  await writeDump(pipe, store.readParts(`${folder.dumps}${entry.name}`, entry.bytes), entry);
  await requireRestored(pipe, signal);
  return done;
}
