import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { buildDebianBill, buildNpmBill, type Bill, type InstalledPackages } from './bill.ts';

/** Where npm records its installed packages; other package managers write no such file. */
const INSTALLED = path.join('node_modules', '.package-lock.json');

/** Bytes of the list of a large system's packages. */
const MOST_LISTED = 16 * 2 ** 20;

/**
 * Writes the packages of an image into `npm.cdx.json` and `debian.cdx.json` of the folder `sbom` of the build:
 * packages of npm that stay without those for development, and Debian's where the image is one. Without either nothing
 * is written; a project that another package manager installed is reported in the log.
 */
export async function writeBills(
  { project, folder }: { project: string; folder: string },
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const place = path.join(folder, 'sbom');
  const keep = (name: string, bill: Bill): void => {
    mkdirSync(place, { recursive: true });
    const file = path.join(place, name);
    writeFileSync(file, `${JSON.stringify(bill)}\n`);
    log.info({ file, packages: bill.components.length }, 'wrote a bill of materials');
  };
  const npm = readNpmPackages(project, log);
  if (npm !== undefined) keep('npm.cdx.json', buildNpmBill(npm));
  const debian = await listDebianPackages(signal);
  if (debian !== undefined) keep('debian.cdx.json', buildDebianBill(debian));
}

/** Returns npm's packages of the project that the folder belongs to, by the nearest package.json. */
function readNpmPackages(folder: string, log: Log): InstalledPackages | undefined {
  const root = findProject(folder);
  if (root === undefined || !existsSync(path.join(root, 'node_modules'))) return undefined;
  const file = path.join(root, INSTALLED);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as InstalledPackages;
  } catch (thrown) {
    const words =
      'npm did not install the packages, so no bill of materials has them: write one with the tool that did';
    log.warn({ file, err: toError(thrown) }, words);
    return undefined;
  }
}

function findProject(folder: string): string | undefined {
  if (existsSync(path.join(folder, 'package.json'))) return folder;
  const above = path.dirname(folder);
  return above === folder ? undefined : findProject(above);
}

/** Returns a line for each package of Debian; undefined on another system. */
async function listDebianPackages(signal: AbortSignal): Promise<string | undefined> {
  const format = '${Package} ${Version} ${Architecture}\n';
  try {
    const asked = promisify(execFile)('dpkg-query', ['--show', `--showformat=${format}`], {
      signal,
      maxBuffer: MOST_LISTED,
    });
    return (await asked).stdout;
  } catch (error) {
    if (toError(error).name === 'AbortError') throw error;
    return undefined;
  }
}
