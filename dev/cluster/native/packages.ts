import { join } from 'node:path';
import { installPackages, isDebian } from '../debian.ts';
import { isExecutable, onPath, searchPath } from '../executable.ts';
import type { Report } from '../report.ts';

type Needed = { command: string; package: string; folders?: readonly string[] };

export const cniFolder = '/usr/lib/cni';

const needed: readonly Needed[] = [
  { command: 'ip', package: 'iproute2' },
  { command: 'mount', package: 'mount' },
  { command: 'unshare', package: 'util-linux' },
  { command: 'nft', package: 'nftables' },
  { command: 'runc', package: 'runc' },
  { command: 'tini', package: 'tini' },
  { command: 'busybox', package: 'busybox-static' },
  { command: 'ptp', package: 'containernetworking-plugins', folders: [cniFolder] },
];

/** Installs with apt-get what is missing; elsewhere says what is. */
export async function ensurePackages(report: Report): Promise<void> {
  const missing = needed.filter((one) => !isThere(one));
  if (missing.length === 0) return;
  if (!(await isDebian())) {
    throw new Error(`The native cluster needs these commands: ${missing.map((one) => one.command).join(', ')}.`);
  }
  await installPackages(
    missing.map((one) => one.package),
    report,
  );
  const still = needed.filter((one) => !isThere(one));
  if (still.length > 0) throw new Error(`Not found after installing: ${still.map((one) => one.command).join(', ')}.`);
}

/** The full path of a command that `ensurePackages` has seen to. */
export function commandPath(name: string): string {
  const found = onPath(name);
  if (found === undefined) throw new Error(`The native cluster needs the command ${name}.`);
  return found;
}

const isThere = (one: Needed): boolean => (one.folders ?? searchPath).some((folder) => isExecutable(join(folder, one.command)));
