import { copyFileSync, existsSync, lstatSync, mkdirSync, readlinkSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { StartError } from '../../errors.ts';
import { runProgram, type ProgramEnd } from '../command.ts';
import { isOfPackages, treeOf } from '../layers/tree.ts';
import { projectOf } from '../packages/project.ts';
import { placesIn, type Cloned } from '../work.ts';

export type LocalContext = {
  /** The folder that a repository would have as its root. */
  root: string;
  /** The path of gx.json from there. */
  configPath: string;
  /** The commit that the folder stands on. */
  cloned: Cloned;
};

type Git = (...args: string[]) => Promise<ProgramEnd>;

/** Copies the files that git would have cloned into the build's folder, as they are now. */
export async function copyContext(config: string, work: string, env: Record<string, string>): Promise<LocalContext> {
  const file = path.resolve(config);
  const folder = path.dirname(file);
  if (!existsSync(folder)) throw new StartError(`build-agent: there is no folder ${folder}.`);
  const git: Git = (...args) => runProgram({ run: ['git', ...args], folder, env });
  const top = await git('rev-parse', '--show-toplevel');
  const root = top.code === 0 ? top.output.trim() : rootWithoutGit(folder);
  const names = top.code === 0 ? await namesOfGit(git, root) : namesOfFolder(root);
  const { source } = placesIn(work);
  for (const name of names) copyEntry(path.join(root, name), path.join(source, name));
  const cloned = await commitOf(git, top.code === 0);
  return { root, configPath: path.relative(root, file).split(path.sep).join('/'), cloned };
}

/** Returns the folder of the lock file or workspace, as far up as there is a package.json. */
function rootWithoutGit(folder: string): string {
  const parts = folder.split(path.sep);
  const top = parts
    .map((_, at) => parts.slice(0, at + 1).join('/') || '/')
    .find((each) => each !== '/' && existsSync(path.join(each, 'package.json')));
  if (top === undefined) return folder;
  return path.join(top, projectOf(top, path.relative(top, folder).split(path.sep).join('/'))?.folder ?? '');
}

/** Returns the files that git follows, and those that are new and not ignored. Deleted files are still listed. */
async function namesOfGit(git: Git, root: string): Promise<string[]> {
  const { output } = await git('-C', root, '-c', 'core.quotePath=false', 'ls-files', '--cached', '--others', '--exclude-standard');
  return output.split('\n').filter((name) => name !== '' && lstatSync(path.join(root, name), { throwIfNoEntry: false }) !== undefined);
}

const namesOfFolder = (root: string): string[] =>
  treeOf(root, (name) => isOfPackages(name) || name === '.git')
    .filter(({ kind }) => kind !== 'folder')
    .map(({ name }) => name);

function copyEntry(from: string, to: string): void {
  mkdirSync(path.dirname(to), { recursive: true });
  const stats = lstatSync(from);
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  // A submodule is a folder here, and is empty in a deployment, too.
  else if (stats.isFile()) copyFileSync(from, to);
}

async function commitOf(git: Git, isRepository: boolean): Promise<Cloned> {
  const { code, output } = isRepository ? await git('show', '--no-patch', '--format=%H %cI', 'HEAD') : { code: 1, output: '' };
  if (code !== 0) return { commit: 'none', at: new Date(0).toISOString() };
  const [commit = '', at = ''] = output.trim().split(' ');
  const changed = (await git('status', '--porcelain')).output.trim() !== '';
  return { commit: changed ? `${commit}-changed` : commit, at: new Date(at).toISOString() };
}
