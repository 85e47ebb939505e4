import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { VerifyJobConfig } from '../config/restore-job.ts';
import type { CatalogueEntry } from '../schema/wire/backup-message.ts';
import type { VerifyDone } from '../schema/wire/restore-message.ts';
import { chosenEntry, requireReadable } from './choose.ts';
import { countsIn } from './dump.ts';
import { feed, foundDatabase, requireRestored } from './feed.ts';
import { folderOf } from './folder.ts';
import { begin } from './pipe.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore } from './store.ts';
import { reported } from './termination.ts';

/** Tables whose differences are named. */
const MOST_NAMED = 5;

/** Verifies one backup, and reports how it ended. */
export const runVerify = (config: VerifyJobConfig, signal: AbortSignal): Promise<void> =>
  reported(config, { reason: 'RestoreFailed', what: 'The verification', signal, work: () => verifyBackup(config, signal) });

/** Restores a backup into the scratch database of the other container, and compares the rows. */
export async function verifyBackup({ order, keys, mount, pipe, pauses }: VerifyJobConfig, signal: AbortSignal): Promise<VerifyDone> {
  const { postgres } = await foundDatabase(pipe, signal);
  const store = openBackupStore(order.target, { keys, mount, signal, pauses });
  const folder = folderOf(order.target, order.owner);
  const entry = await chosenEntry(store, folder, order);
  // Nothing is decrypted here, so that no keys are needed.
  requireReadable({ ...entry, keys: [] }, { postgres, keys: [] });
  await begin(pipe);
  await feed(pipe, store.parts(`${folder.dumps}${entry.name}`, entry.bytes), entry);
  await requireRestored(pipe, signal);
  const [migration = '', ...lines] = (await readFile(join(pipe, 'counted'), 'utf8')).split('\n');
  requireSame(entry, Number(migration), countsIn(lines.join('\n')));
  return { verified: entry.name };
}

function requireSame({ name, migration, counts }: CatalogueEntry, found: number, counted: Record<string, string>): void {
  if (found !== migration) throw new BackupFailed('NotVerified', `Backup ${name} came back with migration ${found}, and had ${migration}.`);
  const other = Object.keys(counts).filter((table) => counted[table] !== counts[table]);
  if (other.length === 0) return;
  const named = other.slice(0, MOST_NAMED).map((table) => `${table} (${rowsOf(counted[table])} rows, and had ${rowsOf(counts[table])})`);
  throw new BackupFailed('NotVerified', `Backup ${name} came back with other rows or keys: ${named.join(', ')}.`);
}

const rowsOf = (count = ''): string => count.split(' ')[0] || 'no';
