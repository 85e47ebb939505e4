import { existsSync, readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess } from '../commands.ts';
import { DevError } from '../errors.ts';
import type { Report } from '../steps.ts';

/** The commit that a release is made from: its whole hash, and its time in seconds, which dates all that is made. */
export type Commit = { hash: string; seconds: number };

/** Throws if the checkout has changes, because a release is made of commits alone. */
export async function requireClean(root: string): Promise<void> {
  const changed = (await runGit(root, 'status', '--porcelain'))
    .split('\n')
    .filter((line) => line !== '');
  if (changed.length === 0) return;
  throw new DevError(
    `The checkout has changes that no commit has, ${changed[0]?.slice(3)} among them: commit or remove them first.`,
  );
}

/** Returns the commit of that name. Throws unless it is one that the checkout is built on. */
export async function requireCommit(root: string, name: string): Promise<Commit> {
  const hash = (
    await runGit(root, 'rev-parse', '--verify', '--quiet', `${name}^{commit}`).catch(() => '')
  ).trim();
  if (hash === '')
    throw new DevError(`The commit ${name}, which CHANGELOG.md names, is not in this repository.`);
  const isBelow = await runGit(root, 'merge-base', '--is-ancestor', hash, 'HEAD').then(
    () => true,
    () => false,
  );
  if (!isBelow)
    throw new DevError(
      `The commit ${name}, which CHANGELOG.md names, is not one that the checkout is built on.`,
    );
  return { hash, seconds: Number(await runGit(root, 'log', '-1', '--format=%ct', hash)) };
}

/** Writes the files of a commit into a folder, with the packages that its lock file names. */
export async function exportCommit(
  root: string,
  { hash }: Commit,
  folder: string,
  report: Report,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  // Files of an image keep their permissions, which git takes from this setting.
  await runGit(root, '-c', 'tar.umask=0022', 'archive', '--output', `${folder}.tar`, hash);
  await runProcess('tar', ['-xf', `${folder}.tar`, '-C', folder]);
  if (hasSamePackages(root, folder))
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  else {
    report('its packages are others than those of this checkout: npm installs them');
    await runProcess(process.execPath, ['dev/install.mjs'], { cwd: folder });
  }
}

function hasSamePackages(root: string, folder: string): boolean {
  const lock = (at: string) => readFileSync(join(at, 'package-lock.json'), 'utf8');
  return existsSync(join(root, 'node_modules')) && lock(root) === lock(folder);
}

const runGit = (root: string, ...args: string[]): Promise<string> =>
  runProcess('git', ['-C', root, ...args]);
