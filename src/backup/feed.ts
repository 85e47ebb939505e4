import { createHash } from 'node:crypto';
import type { DumpEntry } from '../schema/wire/backup-message.ts';
import { waitForAnswer, readErrorOutput, openDump, readAnswer, writeOrder } from './pipe.ts';
import { BackupFailed } from './s3/failure.ts';

/* The bytes of a backup, on their way to the container with pg_restore. */

/** Reads the version of the database, and its state: `empty`, or the comment of its schema. */
export async function readDatabaseState(
  folder: string,
  signal: AbortSignal,
): Promise<{ postgres: string; state: string }> {
  if ((await waitForAnswer(folder, ['found', 'end'], signal)) === 'end')
    await requireRestored(folder, signal);
  const [postgres = '', state = ''] = (await readAnswer(folder, 'found')).trim().split('\n');
  return { postgres, state };
}

/** Writes the bytes of a backup into the pipe, and says that they were whole if they were. */
export async function writeDump(
  folder: string,
  source: AsyncIterable<Buffer>,
  { name, sha256 }: DumpEntry,
): Promise<void> {
  const hash = createHash('sha256');
  const pipe = await openDump(folder, 'write');
  try {
    for await (const piece of source) {
      hash.update(piece);
      await pipe.appendFile(piece);
    }
  } catch (error) {
    // The programs at the other end have ended, and their own words say why.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return;
    throw error;
  } finally {
    await pipe.close().catch(() => undefined);
  }
  if (hash.digest('hex') !== sha256)
    throw new BackupFailed(
      'RestoreFailed',
      `The bytes of backup ${name} are not those that the catalogue names by SHA-256.`,
    );
  await writeOrder(folder, 'whole', '');
}

/** Returns when the restore was committed. Throws with the words of pg_restore or psql if it was not. */
export async function requireRestored(folder: string, signal: AbortSignal): Promise<void> {
  await waitForAnswer(folder, ['end'], signal);
  const status = (await readAnswer(folder, 'end')).trim();
  if (status === '0') return;
  const words = await readErrorOutput(folder);
  throw new BackupFailed(
    'RestoreFailed',
    `The database took nothing (status ${status})${words === '' ? '.' : `: ${words}`}`,
  );
}
