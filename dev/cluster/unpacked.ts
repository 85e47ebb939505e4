import { chmod, rm, writeFile } from 'node:fs/promises';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { runProcess, canRun } from '../commands.ts';
import { MissingRequirement } from '../errors.ts';
import { runLocked } from '../lock.ts';
import type { Report } from '../steps.ts';
import { openDebianArchive } from './debian-archive.ts';
import { cacheFolder } from './go-cache.ts';
import { makeCachedFolder } from './make-cached-folder.ts';
import type { UnpackedPackage } from './part.ts';

/*
 * A package of the Debian that our images stand on, for a machine that has another one: it is unpacked into the cache
 * beside all that it depends on, the C library included, and installed nowhere.
 */

const getFolder = ({ package: name, suite }: UnpackedPackage): string =>
  join(cacheFolder(), `debian-${suite}-${name}`);

/** Returns the path of the package's command in the cache, or undefined if it is not unpacked. */
export function findUnpacked(from: UnpackedPackage, name: string): string | undefined {
  const path = join(getFolder(from), name);
  return existsSync(path) ? path : undefined;
}

/** Unpacks the package into the cache. Throws `MissingRequirement` where apt-get is missing. */
export async function unpackIntoCache(from: UnpackedPackage, report: Report): Promise<void> {
  if (existsSync(getFolder(from))) return;
  if (!(await canRun('apt-get', ['--version'])))
    throw new MissingRequirement(
      `${from.package} of Debian ${from.suite} is fetched by apt-get, which this machine lacks.`,
    );
  const reportWait = (): void =>
    report(`${from.package}: waiting for another process that unpacks`);
  await runLocked('unpacked', reportWait, async () => {
    if (existsSync(getFolder(from))) return;
    report(`${from.package}: from Debian ${from.suite}`);
    await makeCachedFolder(getFolder(from), (unfinished) => unpack(from, unfinished));
  });
}

async function unpack(
  { package: name, suite, commands, beside = [] }: UnpackedPackage,
  folder: string,
): Promise<void> {
  const work = join(folder, 'apt');
  const runApt = await openDebianArchive(work, suite);
  await runApt('install', '--download-only', '-y', '--no-install-recommends', name, ...beside);
  for (const file of globSync(join(work, 'cache/archives/*.deb')))
    await runProcess('dpkg-deb', ['-x', file, join(folder, 'root')]);
  await rm(work, { recursive: true });
  for (const one of commands) await writeStarter(folder, one);
}

/** Writes a script that starts the command with its own C library. `exec` keeps the process id for signals. */
async function writeStarter(folder: string, name: string): Promise<void> {
  const [loader] = globSync(['usr/lib64/ld-linux-*.so.*', 'usr/lib/*/ld-linux-*.so.*'], {
    cwd: join(folder, 'root'),
  });
  const [libraries] = globSync('usr/lib/*-linux-gnu', { cwd: join(folder, 'root') });
  if (loader === undefined || libraries === undefined)
    throw new MissingRequirement(`The packages of ${name} have no C library.`);
  const script = [
    '#!/bin/sh',
    'root="$(dirname "$0")/root"',
    `exec "$root/${loader}" --library-path "$root/${libraries}" "$root/usr/bin/${name}" "$@"`,
    '',
  ];
  await writeFile(join(folder, name), script.join('\n'));
  await chmod(join(folder, name), 0o755);
}
