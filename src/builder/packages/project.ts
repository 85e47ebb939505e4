import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { StageFailed } from '../../errors.ts';
import { realFileIn } from '../work.ts';
import { LOCK_FILES, managerOf, type Manager } from './managers.ts';

/** A folder in which packages are installed: of one package, or of a workspace. */
export type Project = {
  /** From the root of the repository; empty for the root itself. */
  folder: string;
  manager: Manager;
  /** Whether there is anything to install. */
  hasPackages: boolean;
};

export type PackageJson = {
  packageManager?: string;
  workspaces?: unknown;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
};

/** Returns package.json of a folder; undefined where there is none. */
export function packageJson(source: string, folder: string): PackageJson | undefined {
  const file = realFileIn(source, path.join(folder, 'package.json'));
  if (file === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as PackageJson;
  } catch {
    throw new StageFailed('InstallFailed', `${path.join(folder, 'package.json')} is not valid JSON.`);
  }
}

/**
 * Returns where packages of a folder are installed: the nearest folder upwards with a lock file, else with a workspace,
 * else with a package.json. Undefined if there is none up to the root of the repository.
 */
export function projectOf(source: string, folder: string): Project | undefined {
  const above = upwards(folder);
  const place =
    above.find(
      (each) => LOCK_FILES.some(([file]) => existsSync(path.join(source, each, file))) && packageJson(source, each) !== undefined,
    ) ??
    above.find(
      (each) => existsSync(path.join(source, each, 'pnpm-workspace.yaml')) || packageJson(source, each)?.workspaces !== undefined,
    ) ??
    above.find((each) => packageJson(source, each) !== undefined);
  if (place === undefined) return undefined;
  const manifest = packageJson(source, place);
  const manager = managerOf({
    files: readdirSync(path.join(source, place)),
    ...(manifest?.packageManager === undefined ? {} : { packageManager: manifest.packageManager }),
    lockText: (file) => beginning(source, path.join(place, file)),
  });
  return { folder: place, manager, hasPackages: packagesBelow(source, place) };
}

/** Returns a folder and those above it, up to the root of the repository. */
export function upwards(folder: string): string[] {
  const parts = folder.split('/').filter((part) => part !== '' && part !== '.');
  return parts.map((_, at) => parts.slice(0, parts.length - at).join('/')).concat('');
}

/** Returns the part of a lock file that names its version. */
function beginning(source: string, file: string): string {
  const real = realFileIn(source, file);
  return real === undefined ? '' : readFileSync(real, 'utf8').slice(0, 2000);
}

const packagesBelow = (source: string, folder: string): boolean =>
  ownPackages(source, folder).some((each) => {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = packageJson(source, each) ?? {};
    return [dependencies, devDependencies, optionalDependencies, peerDependencies].some((list) => Object.keys(list ?? {}).length > 0);
  });

/** Returns folders of a workspace's members, and last its root. Package managers run their scripts in this order. */
export function ownPackages(source: string, folder: string): string[] {
  const patterns = [...workspacesOf(packageJson(source, folder)?.workspaces), ...pnpmWorkspaces(source, folder)];
  const cwd = path.join(source, folder);
  const exclude = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  const found = globSync(
    patterns.filter((pattern) => !pattern.startsWith('!')).map((pattern) => path.posix.join(pattern, 'package.json')),
    { cwd, exclude: ['**/node_modules/**', ...exclude] },
  );
  const members = found
    .map((file) => path.posix.join(folder, path.posix.dirname(file)))
    .filter((each) => packageJson(source, each) !== undefined);
  return [...new Set(members)]
    .filter((each) => each !== folder && each !== '.')
    .toSorted()
    .concat(folder);
}

function workspacesOf(workspaces: unknown): string[] {
  const list: unknown = Array.isArray(workspaces) ? workspaces : (workspaces as { packages?: unknown } | undefined)?.packages;
  return Array.isArray(list) ? list.filter((pattern) => typeof pattern === 'string') : [];
}

function pnpmWorkspaces(source: string, folder: string): string[] {
  const file = realFileIn(source, path.join(folder, 'pnpm-workspace.yaml'));
  if (file === undefined) return [];
  try {
    return workspacesOf(parse(readFileSync(file, 'utf8')));
  } catch {
    throw new StageFailed('InstallFailed', `${path.join(folder, 'pnpm-workspace.yaml')} is not valid YAML.`);
  }
}
