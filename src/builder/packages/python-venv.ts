import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { StageFailed } from '../../errors.ts';
import { logLine } from '../progress.ts';

/** Adds folders to the path of modules, by lines that hold in the image as well. */
export function addFolders({
  venv,
  source,
  folders,
}: {
  /** They are imported as they are. */ folders: readonly string[];
  venv: string;
  source: string;
}): void {
  const site = findSitePackages(venv);
  const lines = [
    ...new Set(folders.map((folder) => path.relative(site, importRoot(source, folder)))),
  ];
  if (lines.length > 0) writeFileSync(path.join(site, 'gx_folders.pth'), `${lines.join('\n')}\n`);
}

function findSitePackages(venv: string): string {
  const [site] = globSync(path.join(venv, 'lib/python3.*/site-packages'));
  if (site === undefined)
    throw new StageFailed('InstallFailed', 'The environment of Python has no folder of packages.');
  return site;
}

/**
 * Makes the links of editable packages lead to the repository as it is in the image, where nothing of this machine
 * imports them any more. Lines of `.pth` files may be relative; a module that setuptools writes names places in full.
 */
export function patchEditableLinks({
  venv,
  source,
  agent,
}: {
  venv: string;
  /** The root of the repository on this machine, and in the image. */
  source: string;
  agent: string;
}): void {
  const site = findSitePackages(venv);
  const toRelative = (place: string): string => path.relative(site, place);
  for (const file of globSync(path.join(site, '*.pth')))
    patchFile(file, (line) =>
      line.startsWith(`${source}/`) || line === source ? toRelative(line) : line,
    );
  for (const file of globSync([
    path.join(site, '__editable__*.py'),
    path.join(site, '*.dist-info/direct_url.json'),
  ]))
    patchFile(file, (line) => line.replaceAll(source, agent));
  // The time of a build, by which uv finds out whether a folder has changed.
  for (const file of globSync(path.join(site, '*.dist-info/uv_cache.json'))) rmSync(file);
  // Hashes of the files above are those of this build's folders.
  for (const file of globSync(path.join(site, '*.dist-info/RECORD')))
    if (existsSync(path.join(path.dirname(file), 'direct_url.json')))
      patchFile(file, (line) =>
        line.replace(
          /^((?:__editable__|[^/,]+\.pth|[^/]+\/(?:direct_url|uv_cache)\.json)[^,]*),.*$/,
          '$1,,',
        ),
      );
}

function patchFile(file: string, change: (line: string) => string): void {
  const before = readFileSync(file, 'utf8');
  const after = before.split('\n').map(change).join('\n');
  if (after === before) return;
  // A link to the cache of uv must not change there.
  rmSync(file);
  writeFileSync(file, after);
}

/** A folder that is a module itself is imported by its name, so the folder above is the place of modules. */
function importRoot(source: string, folder: string): string {
  const place = path.join(source, folder);
  if (!existsSync(path.join(place, '__init__.py'))) return place;
  if (folder !== '') return path.dirname(place);
  logLine(
    '__init__.py in the root of the repository has no effect: the root has no name that could be imported',
  );
  return place;
}
