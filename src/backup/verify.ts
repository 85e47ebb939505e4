import { join } from 'node:path';
import type { VerifyJobConfig } from '../config/jobs/restore-job.ts';
import type { CatalogueEntry } from '../schema/wire/backup-message.ts';
import { OWNER, ask, buildPsqlCommand, WRITES_ALWAYS } from '../schema/wire/database-session.ts';
import { formatShellCommand } from '../schema/wire/pgbackrest.ts';
import type { VerifyDone } from '../schema/wire/restore-message.ts';
import { chooseCatalogueEntry, requireReadable } from './choose.ts';
import { writeConfiguration, requireTaken } from './copy.ts';
import { parseTableCounts } from './dump.ts';
import { writeDump, readDatabaseState, requireRestored } from './feed.ts';
import { getBackupFolder } from './folder.ts';
import { begin, giveUp, readAnswer } from './pipe.ts';
import { buildScriptRunner, type RunScript } from './runner.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore } from './store.ts';
import { runAndReport } from './termination.ts';

/** Tables whose differences are named. */
const MOST_NAMED = 5;

/** Verifies one backup, and reports how it ended. */
export const runVerify = (config: VerifyJobConfig, signal: AbortSignal): Promise<void> =>
  runAndReport(config, {
    reason: 'RestoreFailed',
    what: 'The verification',
    signal,
    work: () => verifyBackup(config, signal),
  });

/** Restores a backup into the scratch database of the other container, and compares the rows. */
export const verifyBackup = (config: VerifyJobConfig, signal: AbortSignal): Promise<VerifyDone> =>
  config.order.scratch === undefined
    ? verifyDump(config, signal)
    : verifyCopy(config, config.order.scratch, signal);

async function verifyDump(
  { order, keys, mount, pipe, pauses }: VerifyJobConfig,
  signal: AbortSignal,
): Promise<VerifyDone> {
  const { postgres } = await readDatabaseState(pipe, signal);
  const store = openBackupStore(order.target, keys, mount, signal, pauses);
  const folder = getBackupFolder(order.target, order.owner);
  const entry = await chooseCatalogueEntry(store, folder, order);
  // Nothing is decrypted here, so that no keys are needed.
  requireReadable({ ...entry, keys: [] }, { postgres, keys: [] });
  if (entry.method !== 'dump')
    throw new BackupFailed('RestoreFailed', `Backup ${entry.name} is not a dump.`);
  await begin(pipe);
  await writeDump(pipe, store.readParts(`${folder.dumps}${entry.name}`, entry.bytes), entry);
  await requireRestored(pipe, signal);
  const [migration = '', ...lines] = (await readAnswer(pipe, 'counted')).split('\n');
  requireSame(entry, Number(migration), parseTableCounts(lines.join('\n')));
  return { verified: entry.name };
}

/**
 * Fills a scratch database with a copy of files, as it was at its end, and compares the rows. The container that has
 * the credential fills it and applies the log, and runs no statement in it. The other one, which has none, does that.
 */
async function verifyCopy(
  config: VerifyJobConfig,
  scratch: string,
  signal: AbortSignal,
): Promise<VerifyDone> {
  const { order, keys, mount, pipe, copier, pauses } = config;
  const target = requireTaken(order.target);
  const store = openBackupStore(target, keys, mount, signal, pauses);
  const folder = getBackupFolder(target, order.owner);
  const entry = await chooseCatalogueEntry(store, folder, order);
  if (entry.method !== 'continuous')
    throw new BackupFailed('RestoreFailed', `Backup ${entry.name} is not a copy of files.`);
  const [run, sql] = [buildScriptRunner(copier, signal), buildScriptRunner(pipe, signal)];
  // Nothing is decrypted here, so that no keys are needed.
  requireReadable(
    { ...entry, keys: [] },
    { postgres: (await runScript(sql, 'postgres --version')).replace(/^\D+/, ''), keys: [] },
  );
  const data = join(scratch, 'data');
  const commands = await writeConfiguration(copier, run, {
    target,
    folder: folder.archive,
    data,
    socket: scratch,
  });
  const refill = formatShellCommand(commands.refill({ copy: entry.copy, to: 'end of copy' }));
  await runScript(
    run,
    `mkdir -p ${data} && chmod 0700 ${data} && $(command -v gx-named) ${refill} || exit\n${applyLog(scratch)}`,
  );
  await giveUp(copier);
  const [migration = '', ...lines] = (await runScript(sql, buildCountScript(scratch))).split('\n');
  requireSame(entry, Number(migration), parseTableCounts(lines.join('\n')));
  await giveUp(pipe);
  return { verified: entry.name };
}

/** Runs a script that must succeed, and returns its output. */
async function runScript(run: RunScript, script: string): Promise<string> {
  const { status, output, words } = await run(script);
  if (status !== 0)
    throw new BackupFailed(
      'RestoreFailed',
      words === '' ? `It ended with status ${status}.` : words,
    );
  return output;
}

/** Starts the scratch database. Nothing is kept safe from a crash, and no connection comes from elsewhere. */
const start = (scratch: string, options = ''): string => `cd ${scratch} || exit 1
$(command -v gx-named) pg_ctl start -D data --silent --wait --timeout=86400 --log=log --options="-c listen_addresses= \\
  -c unix_socket_directories=${scratch} -c hot_standby=off -c fsync=off -c full_page_writes=off${options}" || { tail -n 20 log >&2; exit 1; }
until pg_isready -q -U postgres -h ${scratch}; do
  [ $? = 1 ] || { tail -n 20 log >&2; exit 1; }
  sleep 1
done`;

/** Returns the script that applies the log to a copy. Nothing of the tenant's is called in the database meanwhile. */
const applyLog = (scratch: string): string => `${start(scratch, ' -c autovacuum=off')}
pg_ctl stop -D data --silent --wait --timeout=86400 --mode=fast || { tail -n 20 log >&2; exit 1; }
`;

/**
 * Returns the script that counts the rows as the agents' own role, which may have no login any more: the superuser
 * gives it one in another database, where the tenant has no object.
 */
const buildCountScript = (scratch: string): string => `${start(scratch)}
${buildPsqlCommand(`"host=${scratch} user=postgres dbname=postgres"`, { args: `-c 'alter role ${OWNER} login'`, options: [WRITES_ALWAYS] })} > /dev/null || exit
printf '%s\\n' "$MIGRATION" "$COUNTS" | ${ask(`"host=${scratch} user=${OWNER} dbname=${OWNER}"`)}
`;

function requireSame(
  { name, migration, counts }: CatalogueEntry,
  found: number,
  counted: Record<string, string>,
): void {
  if (found !== migration)
    throw new BackupFailed(
      'NotVerified',
      `Backup ${name} came back with migration ${found}, and had ${migration}.`,
    );
  const other = Object.keys(counts).filter((table) => counted[table] !== counts[table]);
  if (other.length === 0) return;
  const named = other
    .slice(0, MOST_NAMED)
    .map(
      (table) =>
        `${table} (${parseRowCount(counted[table])} rows, and had ${parseRowCount(counts[table])})`,
    );
  throw new BackupFailed(
    'NotVerified',
    `Backup ${name} came back with other rows or keys: ${named.join(', ')}.`,
  );
}

const parseRowCount = (count = ''): string => count.split(' ')[0] || 'no';
