import { readFile } from 'node:fs/promises';
import type { RestoreJobConfig } from '../config/restore-job.ts';
import type { RestoreDone } from '../schema/wire/restore-message.ts';
import { chosenEntry, requireReadable } from './choose.ts';
import { feed, foundDatabase, requireRestored } from './feed.ts';
import { folderOf } from './folder.ts';
import { takeFilled } from './filled.ts';
import { lastSql, QUIET_SQL } from './last-sql.ts';
import { markerIn } from './marker.ts';
import { begin, giveUp, writeOrder } from './pipe.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore } from './store.ts';
import { reported } from './termination.ts';

/** Restores one backup into an empty database, and reports how it ended. */
export const runRestore = (config: RestoreJobConfig, signal: AbortSignal): Promise<void> =>
  reported(config, {
    reason: 'RestoreFailed',
    what: 'The restore',
    signal,
    work: () => (config.order.filled === true ? takeFilled : restoreBackup)(config, signal),
  });

/** Looks whether a backup can be restored, and reports which one it is. */
export const runCheck = (config: RestoreJobConfig, signal: AbortSignal): Promise<void> =>
  reported(config, { reason: 'RestoreFailed', what: 'The look at the backup', signal, work: () => checkBackup(config, signal) });

/** Looks whether a backup can be restored. It reads the catalogue alone. */
export async function checkBackup(
  { order, keys, mount, encryptionKeys, pipe, pauses }: RestoreJobConfig,
  signal: AbortSignal,
): Promise<RestoreDone> {
  const { postgres } = await foundDatabase(pipe, signal);
  const store = openBackupStore(order.target, { keys, mount, signal, pauses });
  const folder = folderOf(order.target, order.owner);
  const entry = await chosenEntry(store, folder, order);
  requireReadable(entry, { postgres, keys: encryptionKeys });
  const done = { backup: `${order.owner.id}/${entry.name}`, from: entry.from };
  if (entry.method === 'continuous') return { ...done, copy: entry.copy };
  if (!(await store.keysBelow(folder.dumps)).includes(`${folder.dumps}${entry.name}`))
    throw new BackupFailed('BackupMissing', `The catalogue has backup ${entry.name}, but ${folder.dumps} does not hold its dump.`);
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
  const { postgres, state } = await foundDatabase(pipe, signal);
  const marker = markerIn(state);
  if (marker?.restoredInto === order.into) {
    // A former Job has done it, and nobody heard of that.
    await giveUp(pipe);
    return { backup: marker.backup, from: marker.from };
  }
  if (state !== 'empty') throw new BackupFailed('DatabaseNotEmpty', 'The database holds data already. Nothing of it is touched.');
  const store = openBackupStore(order.target, { keys, mount, signal, pauses });
  const folder = folderOf(order.target, order.owner);
  const entry = await chosenEntry(store, folder, order);
  requireReadable(entry, { postgres, keys: encryptionKeys });
  if (entry.method !== 'dump') throw new BackupFailed('RestoreFailed', `Backup ${entry.name} is no dump.`);
  const done = { backup: `${order.owner.id}/${entry.name}`, from: entry.from };
  if (!order.resume) await writeOrder(pipe, 'quiet.sql', await readFile(QUIET_SQL, 'utf8'));
  await writeOrder(pipe, 'marker.sql', await lastSql({ ...done, restoredInto: order.into }));
  await begin(pipe);
  await feed(pipe, store.parts(`${folder.dumps}${entry.name}`, entry.bytes), entry);
  await requireRestored(pipe, signal);
  return done;
}
