import { installPackages, isDebian } from '../../cluster/debian.ts';
import { onPath } from '../../cluster/executable.ts';
import type { Report } from '../../cluster/report.ts';

const needed = ['buildah', 'debootstrap'];

/** Installs the Debian packages that build images, where they are missing. */
export async function ensurePackages(report: Report): Promise<void> {
  const missing = needed.filter((name) => onPath(name) === undefined);
  if (missing.length === 0) return;
  if (!(await isDebian())) throw new Error(`Images need Docker, or these commands: ${missing.join(', ')}.`);
  await installPackages(missing, report);
}
