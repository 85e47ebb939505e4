import { existsSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Returns the folders that `dependencies` of gx.json puts on the path of modules of Python, behind all others: a
 * folder, where it is a package itself the folder above, and the `src` of a project, as its installation would. Builds
 * from git install the same.
 */
export function importFolders(dependencies: readonly string[], folder: string): string[] {
  const folders = dependencies.map((name) => path.resolve(folder, name)).filter(isFolder);
  const places = folders.flatMap((at) => [
    ...(at === folder ? [] : [at]),
    ...(at !== folder && existsSync(path.join(at, '__init__.py')) ? [path.dirname(at)] : []),
    ...(['pyproject.toml', 'setup.py'].some((name) => existsSync(path.join(at, name)))
      ? [path.join(at, 'src')].filter(isFolder)
      : []),
  ]);
  return [...new Set(places)];
}

const isFolder = (place: string): boolean =>
  statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
