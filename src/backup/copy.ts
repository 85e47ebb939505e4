import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { BackupJobConfig } from '../config/backup-job.ts';
import { asError } from '../errors.ts';
import { expiredBackups } from '../schema/wire/backup-expiry.ts';
import { isClaimTarget, type BackupDone, type CopyEntry, type DatabaseFiles, type S3Target } from '../schema/wire/backup-message.ts';
import {
  archiveCommands,
  archiveIn,
  archiveTargetFault,
  inShell,
  nextCopy,
  remoteFiles,
  retainedOf,
  type ArchivePlace,
  type BaseCopy,
} from '../schema/wire/pgbackrest.ts';
import { countsIn, factsIn } from './dump.ts';
import { claimFolder, folderOf, type Folder } from './folder.ts';
import { giveUp } from './pipe.ts';
import { runnerIn, type RunScript } from './runner.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore, type BackupStore } from './store.ts';

/** Attempts to reach the server beside the database, and milliseconds between two: its files may come late. */
const ATTEMPTS = 60;
const PAUSE = 5000;

type Copying = BackupJobConfig & { files: DatabaseFiles };
type Commands = ReturnType<typeof archiveCommands>;

/** Makes a copy of the database's files, and removes those that have expired, with their log. */
export async function copyFiles({ order, keys, mount, pipe, pauses, files }: Copying, signal: AbortSignal): Promise<BackupDone> {
  const { name, owner } = order;
  const target = requireTaken(order.target);
  const store = openBackupStore(target, { keys, mount, signal, pauses });
  const folder = folderOf(target, owner);
  await claimFolder(store, folder, owner);
  const run = runnerIn(pipe, signal);
  const commands = await configured(pipe, { target, keys, folder: folder.archive, ...files });
  await prepare(run, commands, { signal, pause: pauses?.[0] ?? PAUSE });
  const facts = factsIn(await done(run, 'ask "$FACTS"'));
  const before = countsIn(await done(run, 'ask "$COUNTS"'));
  await done(run, inShell(commands.copy(nextCopy(await copiesAt(run, commands), new Date()))));
  const after = countsIn(await done(run, 'ask "$COUNTS"'));
  const made = (await copiesAt(run, commands)).at(-1);
  if (made === undefined) throw new BackupFailed('CopyFailed', 'The copy is not among those at the store.');
  const entry: CopyEntry = {
    name,
    method: 'continuous',
    owner,
    ...facts,
    from: made.from,
    until: new Date().toISOString(),
    bytes: made.bytes,
    counts: unchanged(before, after),
    copy: made.label,
    holds: order.holds,
  };
  await store.write(`${folder.copies}${name}.json`, `${JSON.stringify(entry)}\n`);
  const trouble = await tidy({ store, folder, run, commands }, order).catch((error: unknown) => asError(error).message);
  await giveUp(pipe);
  const { from, until, bytes, migration, keys: ids } = entry;
  return { from, until, bytes, migration, keys: ids, ...(trouble !== undefined && { trouble }) };
}

/** Returns the target as one that takes copies. Throws if it is none. */
export function requireTaken(target: BackupJobConfig['order']['target']): S3Target {
  const fault = archiveTargetFault(target);
  if (fault !== undefined || isClaimTarget(target)) throw new BackupFailed('TargetRefused', fault ?? '');
  return target;
}

/** Writes the configuration for the other container, and returns its commands. */
export async function configured(pipe: string, place: Omit<ArchivePlace, 'at' | 'locks'>): Promise<Commands> {
  const locks = join(pipe, 'locks');
  for (const [name, text] of Object.entries(remoteFiles({ ...place, at: pipe, locks })))
    await writeFile(join(pipe, name), text, { mode: 0o640 });
  return archiveCommands(join(pipe, 'pgbackrest.conf'));
}

/** The queries come from the variables of the other container. */
const ASK = `ask() { printf '%s\\n' "$1" | psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 "$ADDRESS"; }`;

/** Runs a script that must succeed, and returns its output. */
async function done(run: RunScript, script: string): Promise<string> {
  const { status, output, words } = await run(`${ASK}\n${script}\n`);
  if (status !== 0) throw new BackupFailed('CopyFailed', words === '' ? `It ended with status ${status}.` : words);
  return output;
}

/**
 * Waits until the server beside the database answers, and makes the folder at the store ready. The last transaction is
 * one with which every moment before the copy can be restored.
 */
async function prepare(run: RunScript, { prepare: make, renew }: Commands, { signal, pause }: { signal: AbortSignal; pause: number }) {
  const script = `${ASK}\n{ ${inShell(make)} || ${inShell(renew)}; } && ask 'select pg_current_xact_id()'\n`;
  for (let attempt = 1; ; attempt += 1) {
    const { status, words } = await run(script);
    if (status === 0) return;
    if (attempt === ATTEMPTS) throw new BackupFailed('CopyFailed', words);
    await wait(pause, undefined, { signal });
  }
}

/** Returns the copies at the store, oldest first. */
async function copiesAt(run: RunScript, { ask }: Commands): Promise<BaseCopy[]> {
  const found = archiveIn(await done(run, inShell(ask)));
  if ('trouble' in found) throw new BackupFailed('CopyFailed', found.trouble);
  return found.copies;
}

/** Returns the counts of tables that did not change while the copy was made. A verification compares them. */
const unchanged = (before: Record<string, string>, after: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(before).filter(([table, count]) => after[table] === count));

type Tidying = { store: BackupStore; folder: Folder; run: RunScript; commands: Commands };

/** Removes copies that have expired, then their entries, and dumps of before that have expired, too. */
async function tidy({ store, folder, run, commands }: Tidying, { keep }: Copying['order']): Promise<undefined> {
  await done(run, inShell(commands.expire(retainedOf(await copiesAt(run, commands), keep))));
  const left = new Set((await copiesAt(run, commands)).map(({ label }) => label));
  const entries = await store.keysBelow(folder.copies);
  for (const key of entries) {
    const entry = JSON.parse((await store.read(key)) ?? '{}') as Partial<CopyEntry>;
    if (entry.copy === undefined || !left.has(entry.copy)) await store.remove(key);
  }
  const dumps = (await store.keysBelow(folder.catalogue)).map((key) => nameIn(key, folder.catalogue));
  const old = new Set(expiredBackups([...dumps, ...entries.map((key) => nameIn(key, folder.copies))], keep, new Date()));
  for (const name of dumps.filter((each) => old.has(each))) {
    await store.remove(`${folder.catalogue}${name}.json`);
    await store.remove(`${folder.dumps}${name}`);
  }
}

const nameIn = (key: string, folder: string): string => key.slice(folder.length).replace(/\.json$/, '');
