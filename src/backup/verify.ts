import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { VerifyJobConfig } from '../config/restore-job.ts';
import type { CatalogueEntry } from '../schema/wire/backup-message.ts';
import { inShell } from '../schema/wire/pgbackrest.ts';
import type { VerifyDone } from '../schema/wire/restore-message.ts';
import { chosenEntry, requireReadable } from './choose.ts';
import { configured, requireTaken } from './copy.ts';
import { countsIn } from './dump.ts';
import { feed, foundDatabase, requireRestored } from './feed.ts';
import { folderOf } from './folder.ts';
import { begin, giveUp } from './pipe.ts';
import { runnerIn } from './runner.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore } from './store.ts';
import { reported } from './termination.ts';

/** Tables whose differences are named. */
const MOST_NAMED = 5;

/** Verifies one backup, and reports how it ended. */
export const runVerify = (config: VerifyJobConfig, signal: AbortSignal): Promise<void> =>
  reported(config, { reason: 'RestoreFailed', what: 'The verification', signal, work: () => verifyBackup(config, signal) });

/** Restores a backup into the scratch database of the other container, and compares the rows. */
export const verifyBackup = (config: VerifyJobConfig, signal: AbortSignal): Promise<VerifyDone> =>
  config.order.scratch === undefined ? verifyDump(config, signal) : verifyCopy(config, config.order.scratch, signal);

async function verifyDump({ order, keys, mount, pipe, pauses }: VerifyJobConfig, signal: AbortSignal): Promise<VerifyDone> {
  const { postgres } = await foundDatabase(pipe, signal);
  const store = openBackupStore(order.target, { keys, mount, signal, pauses });
  const folder = folderOf(order.target, order.owner);
  const entry = await chosenEntry(store, folder, order);
  // Nothing is decrypted here, so that no keys are needed.
  requireReadable({ ...entry, keys: [] }, { postgres, keys: [] });
  if (entry.method !== 'dump') throw new BackupFailed('RestoreFailed', `Backup ${entry.name} is no dump.`);
  await begin(pipe);
  await feed(pipe, store.parts(`${folder.dumps}${entry.name}`, entry.bytes), entry);
  await requireRestored(pipe, signal);
  const [migration = '', ...lines] = (await readFile(join(pipe, 'counted'), 'utf8')).split('\n');
  requireSame(entry, Number(migration), countsIn(lines.join('\n')));
  return { verified: entry.name };
}

/** Fills a scratch database with a copy of files, as it was at its end, and compares the rows. */
async function verifyCopy(
  { order, keys, mount, pipe, pauses }: VerifyJobConfig,
  scratch: string,
  signal: AbortSignal,
): Promise<VerifyDone> {
  const target = requireTaken(order.target);
  const store = openBackupStore(target, { keys, mount, signal, pauses });
  const folder = folderOf(target, order.owner);
  const entry = await chosenEntry(store, folder, order);
  if (entry.method !== 'continuous') throw new BackupFailed('RestoreFailed', `Backup ${entry.name} is no copy of files.`);
  const run = runnerIn(pipe, signal);
  const done = async (script: string): Promise<string> => {
    const { status, output, words } = await run(script);
    if (status !== 0) throw new BackupFailed('RestoreFailed', words === '' ? `It ended with status ${status}.` : words);
    return output;
  };
  // Nothing is decrypted here, so that no keys are needed.
  requireReadable({ ...entry, keys: [] }, { postgres: (await done('postgres --version')).replace(/^\D+/, ''), keys: [] });
  const data = join(scratch, 'data');
  const commands = await configured(pipe, { target, keys, folder: folder.archive, data, socket: scratch });
  await done(
    `mkdir -p ${data} && chmod 0700 ${data} && $(command -v gx-named) ${inShell(commands.refill({ copy: entry.copy, to: 'end of copy' }))}`,
  );
  const [migration = '', ...lines] = (await done(startScratch(scratch))).split('\n');
  requireSame(entry, Number(migration), countsIn(lines.join('\n')));
  await giveUp(pipe);
  return { verified: entry.name };
}

/** Returns the script that applies the log to a copy and counts the rows. Nothing is kept safe from a crash. */
const startScratch = (scratch: string): string => `cd ${scratch} || exit 1
$(command -v gx-named) pg_ctl start -D data --silent --wait --timeout=86400 --log=log --options="-c listen_addresses= \\
  -c unix_socket_directories=${scratch} -c hot_standby=off -c fsync=off -c full_page_writes=off" || { tail -n 20 log >&2; exit 1; }
until pg_isready -q -U postgres -h ${scratch}; do
  [ $? = 1 ] || { tail -n 20 log >&2; exit 1; }
  sleep 1
done
printf 'select coalesce(max(number), 0) from gx.migration;\\n%s\\n' "$COUNTS" |
  psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 "host=${scratch} user=postgres dbname=gx"
`;

function requireSame({ name, migration, counts }: CatalogueEntry, found: number, counted: Record<string, string>): void {
  if (found !== migration) throw new BackupFailed('NotVerified', `Backup ${name} came back with migration ${found}, and had ${migration}.`);
  const other = Object.keys(counts).filter((table) => counted[table] !== counts[table]);
  if (other.length === 0) return;
  const named = other.slice(0, MOST_NAMED).map((table) => `${table} (${rowsOf(counted[table])} rows, and had ${rowsOf(counts[table])})`);
  throw new BackupFailed('NotVerified', `Backup ${name} came back with other rows or keys: ${named.join(', ')}.`);
}

const rowsOf = (count = ''): string => count.split(' ')[0] || 'no';
