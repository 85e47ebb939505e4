import { command, succeeds } from '../../cluster/commands.ts';
import { onPath } from '../../cluster/executable.ts';
import type { Report } from '../../cluster/report.ts';

const needed = ['buildah', 'debootstrap'];

/** Installs the Debian packages that build images, where they are missing. */
export async function ensurePackages(report: Report): Promise<void> {
  const missing = needed.filter((name) => onPath(name) === undefined);
  if (missing.length === 0) return;
  if (!(await succeeds('apt-get', ['--version']))) throw new Error(`Images need Docker, or these commands: ${missing.join(', ')}.`);
  report(`installing Debian packages: ${missing.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...missing];
  // The package lists of a fresh machine may be empty or old: only then is the update's time spent.
  await command('apt-get', install, { env }).catch(async () => {
    await command('apt-get', ['update', '-qq'], { env });
    await command('apt-get', install, { env });
  });
}
