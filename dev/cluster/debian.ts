import { existsSync } from 'node:fs';
import { runProcess, canRun } from '../commands.ts';
import { extendEnvironment } from '../env.ts';
import { findExecutable } from '../executable.ts';
import { MissingRequirement } from '../errors.ts';
import { runLocked } from '../lock.ts';
import type { Report } from '../steps.ts';
import type { DebianPackage } from './part.ts';

/** Seconds that another program may hold the lock of the packages, as updates do on a machine that has just started. */
const PATIENCE = 600;

/** Returns the full path of one of the package's commands, or undefined if it is not installed. */
export const findCommand = ({ folder }: DebianPackage, name: string): string | undefined =>
  folder === undefined ? findExecutable(name) : findExecutable(name, [folder]);

/**
 * Installs the packages whose commands are missing with apt-get. On systems without it, throws `MissingRequirement`
 * with their names.
 */
export async function installMissing(
  packages: readonly DebianPackage[],
  report: Report,
): Promise<void> {
  const missing = packages.filter(isMissing);
  if (missing.length === 0) return;
  if (await canRun('apt-get', ['--version']))
    await install(
      missing.map((one) => one.package),
      report,
    );
  const absent = missing.flatMap(listAbsent);
  if (absent.length > 0)
    throw new MissingRequirement(
      `These commands or files are missing on this machine: ${absent.join(', ')}.`,
    );
}

const isMissing = (one: DebianPackage): boolean => listAbsent(one).length > 0;

const listAbsent = (one: DebianPackage): string[] => [
  ...one.commands.filter((name) => findCommand(one, name) === undefined),
  ...(one.files ?? []).filter((path) => !existsSync(path)),
];

/** Runs one installation at a time, because apt-get does not wait for the package lists of another one. */
async function install(packages: readonly string[], report: Report): Promise<void> {
  const reportWait = (): void => report('waiting: other Debian packages are being installed');
  await runLocked('debian', reportWait, async () => {
    report(`installing Debian packages: ${packages.join(' ')}`);
    const env = extendEnvironment({ DEBIAN_FRONTEND: 'noninteractive' });
    const runApt = (...args: string[]): Promise<string> =>
      runProcess('apt-get', ['-o', `DPkg::Lock::Timeout=${PATIENCE}`, '-qq', ...args], { env });
    const installThem = ['install', '-y', '--no-install-recommends', ...packages];
    // The package lists of a new machine may be empty or old. Only then is an update worth its time.
    await runApt(...installThem).catch(async () => {
      await runApt('update');
      await runApt(...installThem);
    });
  });
}
