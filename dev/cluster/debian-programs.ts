import { existsSync, globSync } from 'node:fs';
import { chmod, cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canRun, runProcess } from '../commands.ts';
import { runLocked } from '../lock.ts';
import type { Report } from '../steps.ts';
import { openDebianArchive } from './debian-archive.ts';
import { cacheFolder } from './go-cache.ts';
import { makeCachedFolder } from './make-cached-folder.ts';
import type { DebianPrograms } from './part.ts';

const getFolder = ({ package: name, suite }: DebianPrograms): string =>
  join(cacheFolder(), `debian-${suite}-${name}-programs`);

/** Returns the path of a program of the package in the cache, or undefined if it is not there. */
export function findDebianProgram(from: DebianPrograms, name: string): string | undefined {
  const path = join(getFolder(from), name);
  return existsSync(path) ? path : undefined;
}

/**
 * Brings the programs into the cache, if this machine has apt-get and they run on it. Otherwise reports why not, and
 * leaves them to be compiled.
 */
export async function unpackDebianPrograms(from: DebianPrograms, report: Report): Promise<void> {
  if (existsSync(getFolder(from)) || !(await canRun('apt-get', ['--version']))) return;
  const reportWait = (): void =>
    report(`${from.package}: waiting for another process that unpacks`);
  await runLocked('unpacked', reportWait, async () => {
    if (existsSync(getFolder(from))) return;
    report(`${from.package}: from Debian ${from.suite}`);
    await makeCachedFolder(getFolder(from), (unfinished) => unpack(from, unfinished)).catch(
      (error: Error) =>
        report(
          `${from.package} of Debian ${from.suite} can't be used (${pickReason(error)}), so it is compiled`,
        ),
    );
  });
}

/** Returns the last complaint of apt-get, without its command, or the message as it is. */
const pickReason = ({ message }: Error): string =>
  message.split('E: ').at(-1)?.trim().replace(/\.$/, '') ?? message;

async function unpack(
  { package: name, suite, files, checked }: DebianPrograms,
  folder: string,
): Promise<void> {
  const [apt, root] = [join(folder, 'apt'), join(folder, 'root')];
  await (
    await openDebianArchive(apt, suite)
  )('download', name);
  const [file = ''] = globSync(join(apt, '*.deb'));
  await runProcess('dpkg-deb', ['-x', file, root]);
  for (const [program, path] of Object.entries(files)) {
    await cp(join(root, path), join(folder, program));
    await chmod(join(folder, program), 0o755);
  }
  const printed = await runProcess(join(folder, checked.program), ['--version']);
  const [, major] = /\bv?(\d+)\.\d+/.exec(printed) ?? [];
  if (Number(major) !== checked.major)
    throw new Error(`its version is not ${checked.major}: ${printed.trim()}`);
  for (const one of [apt, root]) await rm(one, { recursive: true });
}
