import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readDevConfig } from '../../dev/env.ts';
import { OLDER, type Older } from './older/versions.ts';

const run = promisify(execFile);

const REQUIREMENTS = 'test/python/requirements.txt';
/** It is there once all packages are installed. */
const WHOLE = 'whole';

/** Returns the folder of the programs of a Python with the packages that the tests of Python graphs need. */
export const pythonTools = (): Promise<string> => packagesOf(REQUIREMENTS);

/** Returns the folder of the programs of a Python with an older LangGraph. */
export const olderTools = (older: Older): Promise<string> => packagesOf(OLDER[older]);

/**
 * Returns the folder of the programs of a Python with the packages of a file of requirements, each of which is checked
 * against its hash. It is kept in the cache, by the content of that file and the version of Python.
 */
export async function packagesOf(file: string): Promise<string> {
  const { stdout: version } = await run('python3', ['--version']);
  const key = createHash('sha256')
    .update(readFileSync(file, 'utf8'))
    .update(version)
    .digest('hex')
    .slice(0, 12);
  const folder = join(readDevConfig().cacheFolder, `python-${key}`);
  const programs = join(folder, 'bin');
  if (existsSync(join(folder, WHOLE))) return programs;
  // A run that was stopped in the middle leaves a folder without the mark.
  await rm(folder, { recursive: true, force: true });
  await run('python3', ['-m', 'venv', folder]);
  await run(join(programs, 'pip'), [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--require-hashes',
    '-r',
    file,
  ]);
  await mkdir(join(folder, WHOLE));
  return programs;
}
