import process from 'node:process';
import { command, succeeds } from './commands.ts';
import { locked } from './lock.ts';
import type { Report } from './report.ts';

/** Seconds that another program of the machine may hold the lock of its packages: the updates of a machine that was just started do. */
const PATIENCE = 600;

/** False where Debian packages can't be installed. */
export const isDebian = (): Promise<boolean> => succeeds('apt-get', ['--version']);

/** Installs Debian packages: one installation at a time, because apt-get itself refuses to wait for another one's lists. */
export async function installPackages(packages: readonly string[], report: Report): Promise<void> {
  const onWait = (): void => report('waiting: other Debian packages are being installed');
  await locked('debian', onWait, async () => {
    report(`installing Debian packages: ${packages.join(' ')}`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const apt = (...args: string[]): Promise<string> =>
      command('apt-get', ['-o', `DPkg::Lock::Timeout=${PATIENCE}`, '-qq', ...args], { env });
    const install = ['install', '-y', '--no-install-recommends', ...packages];
    // The package lists of a fresh machine may be empty or old: only then is the update's time spent.
    await apt(...install).catch(async () => {
      await apt('update');
      await apt(...install);
    });
  });
}
