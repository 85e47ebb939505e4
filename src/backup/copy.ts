import { setTimeout as wait } from 'node:timers/promises';
import type { BackupJobConfig } from '../config/jobs/backup-job.ts';
import { toError } from '../errors.ts';
import { listExpiredBackups } from '../schema/wire/backup-expiry.ts';
import { ask, OWN_DATABASE } from '../schema/wire/database-session.ts';
import {
  isClaimTarget,
  type BackupDone,
  type CopyEntry,
  type DatabaseFiles,
  type S3Target,
} from '../schema/wire/backup-message.ts';
import {
  buildArchiveCommands,
  parseArchiveInfo,
  CREDENTIAL_SECTION,
  checkArchiveTarget,
  formatShellCommand,
  chooseCopyType,
  buildRemoteFiles,
  decideRetention,
  type ArchivePlace,
  type BaseCopy,
} from '../schema/wire/pgbackrest.ts';
import { parseTableCounts, parseDatabaseFacts } from './dump.ts';
import { claimFolder, getBackupFolder, requireName, type Folder } from './folder.ts';
import { giveUp, writeOrder } from './pipe.ts';
import { buildScriptRunner, type RunScript } from './runner.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore, type BackupStore } from './store.ts';

/** Attempts to reach the server beside the database, and milliseconds between two: its files may come late. */
const ATTEMPTS = 60;
const PAUSE = 5000;

type Copying = BackupJobConfig & { files: DatabaseFiles };
type Commands = ReturnType<typeof buildArchiveCommands>;
/** The containers that run scripts: the one with pgBackRest, and the one that asks the database. */
type Runners = Record<'run' | 'sql', RunScript>;

/** Makes a copy of the database's files, and removes those that have expired, with their log. */
export async function copyFiles(
  { order, keys, mount, pipe, copier, pauses, files }: Copying,
  signal: AbortSignal,
): Promise<BackupDone> {
  const { owner } = order;
  const name = requireName(order.name);
  const target = requireTaken(order.target);
  const store = openBackupStore(target, keys, mount, signal, pauses);
  const folder = getBackupFolder(target, owner);
  await claimFolder(store, folder, owner);
  const [run, sql] = [buildScriptRunner(copier, signal), buildScriptRunner(pipe, signal)];
  const commands = await writeConfiguration(copier, run, {
    target,
    folder: folder.archive,
    ...files,
  });
  await prepare({ run, sql }, commands, { signal, pause: pauses?.[0] ?? PAUSE });
  const facts = parseDatabaseFacts(await runScript(sql, buildAskScript('"$FACTS"')));
  const before = parseTableCounts(await runScript(sql, buildAskScript('"$COUNTS"')));
  await runScript(
    run,
    formatShellCommand(commands.copy(chooseCopyType(await listCopies(run, commands), new Date()))),
  );
  const after = parseTableCounts(await runScript(sql, buildAskScript('"$COUNTS"')));
  const made = (await listCopies(run, commands)).at(-1);
  if (made === undefined)
    throw new BackupFailed('CopyFailed', 'The copy is not among those at the store.');
  const entry: CopyEntry = {
    name,
    method: 'continuous',
    owner,
    ...facts,
    from: made.from,
    until: new Date().toISOString(),
    bytes: made.bytes,
    counts: filterUnchanged(before, after),
    copy: made.label,
    holds: order.holds,
  };
  await store.write(`${folder.copies}${name}.json`, `${JSON.stringify(entry)}\n`);
  const trouble = await removeExpired(store, folder, run, commands, order).catch(
    (error: unknown) => toError(error).message,
  );
  await Promise.all([giveUp(pipe), giveUp(copier)]);
  const { from, until, bytes, migration, keys: ids } = entry;
  return { from, until, bytes, migration, keys: ids, ...(trouble !== undefined && { trouble }) };
}

/** Returns the target as one that takes copies. Throws if it is none. */
export function requireTaken(target: BackupJobConfig['order']['target']): S3Target {
  const fault = checkArchiveTarget(target);
  if (fault !== undefined || isClaimTarget(target))
    throw new BackupFailed('TargetRefused', fault ?? '');
  return target;
}

/** The folder of the container with pgBackRest for its configuration, which nobody else sees. */
const OWN = '/tmp/gx-archive';

/**
 * Writes the configuration without the credential for the other container, which adds its own copy of that, and returns
 * its commands.
 */
export async function writeConfiguration(
  copier: string,
  run: RunScript,
  place: Omit<ArchivePlace, 'at' | 'locks' | 'keys'>,
): Promise<Commands> {
  const files = Object.entries(buildRemoteFiles({ ...place, at: OWN, locks: `${OWN}/locks` }));
  for (const [name, text] of files) await writeOrder(copier, name, text);
  const { status, words } = await run(`umask 077
mkdir -p ${OWN}/locks && cp ${files.map(([name]) => `../orders/${name}`).join(' ')} ${OWN} && {
${CREDENTIAL_SECTION}
} >> ${OWN}/pgbackrest.conf
`);
  if (status !== 0)
    throw new BackupFailed('TargetMissing', `The credential of the target can't be read. ${words}`);
  return buildArchiveCommands(`${OWN}/pgbackrest.conf`);
}

/** Returns the script that asks the database. The queries come from variables of the container. */
const buildAskScript = (query: string): string => `printf '%s\\n' ${query} | ${ask(OWN_DATABASE)}`;

/** Runs a script that must succeed, and returns its output. */
async function runScript(run: RunScript, script: string): Promise<string> {
  const { status, output, words } = await run(`${script}\n`);
  if (status !== 0)
    throw new BackupFailed('CopyFailed', words === '' ? `It ended with status ${status}.` : words);
  return output;
}

/**
 * Waits until the server beside the database answers, and makes the folder at the store ready. The last transaction is
 * one with which every moment before the copy can be restored.
 */
async function prepare(
  { run, sql }: Runners,
  { prepare: make, renew }: Commands,
  { signal, pause }: { signal: AbortSignal; pause: number },
) {
  for (let attempt = 1; ; attempt += 1) {
    const made = await run(`${formatShellCommand(make)} || ${formatShellCommand(renew)}\n`);
    const ended =
      made.status === 0
        ? await sql(buildAskScript("'select pg_catalog.pg_current_xact_id()'"))
        : made;
    if (ended.status === 0) return;
    if (attempt === ATTEMPTS) throw new BackupFailed('CopyFailed', ended.words);
    await wait(pause, undefined, { signal });
  }
}

/** Returns the copies at the store, oldest first. */
async function listCopies(run: RunScript, commands: Commands): Promise<BaseCopy[]> {
  const found = parseArchiveInfo(await runScript(run, formatShellCommand(commands.ask)));
  if ('trouble' in found) throw new BackupFailed('CopyFailed', found.trouble);
  return found.copies;
}

/** Returns the counts of tables that did not change while the copy was made. A verification compares them. */
const filterUnchanged = (
  before: Record<string, string>,
  after: Record<string, string>,
): Record<string, string> =>
  Object.fromEntries(Object.entries(before).filter(([table, count]) => after[table] === count));

/** Removes copies that have expired, then their entries, and dumps of before that have expired, too. */
async function removeExpired(
  store: BackupStore,
  folder: Folder,
  run: RunScript,
  commands: Commands,
  { keep }: Copying['order'],
): Promise<undefined> {
  await runScript(
    run,
    formatShellCommand(commands.expire(decideRetention(await listCopies(run, commands), keep))),
  );
  const left = new Set((await listCopies(run, commands)).map(({ label }) => label));
  const entries = await store.listKeys(folder.copies);
  for (const key of entries) {
    const entry = JSON.parse((await store.read(key)) ?? '{}') as Partial<CopyEntry>;
    if (entry.copy === undefined || !left.has(entry.copy)) await store.remove(key);
  }
  const dumps = (await store.listKeys(folder.catalogue)).map((key) =>
    parseEntryName(key, folder.catalogue),
  );
  const old = new Set(
    listExpiredBackups(
      [...dumps, ...entries.map((key) => parseEntryName(key, folder.copies))],
      keep,
      new Date(),
    ),
  );
  for (const name of dumps.filter((each) => old.has(each))) {
    await store.remove(`${folder.catalogue}${name}.json`);
    await store.remove(`${folder.dumps}${name}`);
  }
}

const parseEntryName = (key: string, folder: string): string =>
  key.slice(folder.length).replace(/\.json$/, '');
