import { chownSync, lstatSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { StartError } from '../../../errors.ts';

/**
 * The account that Postgres runs as. Postgres refuses root, so root gives it another one; anybody else runs it as
 * themselves.
 */
export type Account = { uid: number; gid: number };

export function readPostgresAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === 'nobody');
  if (entry === undefined)
    throw new StartError(
      'Postgres refuses to run as root, and there is no account "nobody" to run it as.',
    );
  // macOS writes these as negative numbers.
  return { uid: Number(entry[2]) >>> 0, gid: Number(entry[3]) >>> 0 };
}

/** Returns whether the account may enter every folder on the way. */
export function mayEnter(folder: string, account: Account | undefined): boolean {
  if (account === undefined) return true;
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const { uid, gid, mode } = statSync(at);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

/**
 * Returns whom Postgres must run as on a folder that an earlier start made: root can be anybody, others only
 * themselves.
 */
export function requireFolderOwner(
  folder: string,
  account: Account | undefined,
): Account | undefined {
  const { uid, gid } = statSync(folder);
  if (account === undefined && uid !== process.getuid?.())
    throw new StartError(
      `${folder} belongs to another account, probably because of a start as root: remove it, or start as that account.`,
    );
  if (account !== undefined && uid === 0) ensurePrivateFolder(folder, account);
  return account === undefined || uid === 0 ? account : { uid, gid };
}

/** Makes a folder that only Postgres' account reads. */
export function ensurePrivateFolder(folder: string, account: Account | undefined): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
}

/**
 * Returns the folder for files that can't lie beside gx.json or in node_modules, where Postgres' account can't go.
 */
export function ensureSharedFolder(account: Account | undefined): string {
  const places = account === undefined ? [path.join(homedir(), '.cache')] : ['/var/lib', tmpdir()];
  for (const place of places) {
    const folder = path.join(place, 'gx-postgres');
    if (ensureFolder(folder) && mayEnter(folder, account)) return folder;
  }
  throw new StartError(
    `There is no folder for Postgres: ${places.join(' and ')} can't be written.`,
  );
}

/** Makes the folder. A folder of somebody else is never used, even if it stands where ours should. */
function ensureFolder(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === process.getuid?.();
  } catch {
    return false;
  }
}
