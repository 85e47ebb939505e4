import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess } from '../commands.ts';
import { extendEnvironment } from '../env.ts';
import { readDebianMirror } from '../images/native/mirror.ts';

/** Runs apt-get on the packages of one release of Debian, whatever the machine has. */
export type AptOfSuite = (...args: string[]) => Promise<string>;

/** Reads the list of a release's packages into a folder, and returns an apt-get that knows these alone. */
export async function openDebianArchive(folder: string, suite: string): Promise<AptOfSuite> {
  for (const part of ['state/lists/partial', 'cache/archives/partial'])
    await mkdir(join(folder, part), { recursive: true });
  const [mirror = 'http://deb.debian.org/debian'] = readDebianMirror();
  await writeFile(
    join(folder, 'sources.list'),
    `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} ${suite} main\n`,
  );
  // Nothing counts as installed, so apt fetches the C library, too.
  await writeFile(join(folder, 'status'), '');
  const settings = {
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State': join(folder, 'state'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const env = extendEnvironment({ DEBIAN_FRONTEND: 'noninteractive' });
  const runApt = (...args: string[]): Promise<string> =>
    runProcess('apt-get', ['-qq', ...options, ...args], { env, cwd: folder });
  await runApt('update');
  return runApt;
}
