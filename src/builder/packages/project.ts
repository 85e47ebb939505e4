import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { StageFailed } from '../../errors.ts';
import { resolveRealFile } from '../work.ts';
import { LOCK_FILES, choosePackageManager, type Manager } from './managers.ts';

/** A folder in which packages are installed: of one package, or of a workspace. */
export type Project = {
  /** From the root of the repository; empty for the root itself. */
  folder: string;
  manager: Manager;
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
export function readPackageJson(source: string, folder: string): PackageJson | undefined {
  const file = resolveRealFile(source, path.join(folder, 'package.json'));
  if (file === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as PackageJson;
  } catch {
    throw new StageFailed(
      'InstallFailed',
      `${path.join(folder, 'package.json')} is not valid JSON.`,
    );
  }
}

/**
 * Returns where packages of a folder are installed: the nearest folder upwards with a lock file, else with a workspace,
 * else with a package.json. Undefined if there is none up to the root of the repository.
 */
export function findProject(source: string, folder: string): Project | undefined {
  const above = listFoldersUpwards(folder);
  const place =
    above.find(
      (each) =>
        LOCK_FILES.some(([file]) => existsSync(path.join(source, each, file))) &&
        readPackageJson(source, each) !== undefined,
    ) ??
    above.find(
      (each) =>
        existsSync(path.join(source, each, 'pnpm-workspace.yaml')) ||
        readPackageJson(source, each)?.workspaces !== undefined,
    ) ??
    above.find((each) => readPackageJson(source, each) !== undefined);
  if (place === undefined) return undefined;
  const manifest = readPackageJson(source, place);
  const manager = choosePackageManager({
    files: readdirSync(path.join(source, place)),
    ...(manifest?.packageManager === undefined ? {} : { packageManager: manifest.packageManager }),
    lockText: (file) => readLockHead(source, path.join(place, file)),
  });
  return { folder: place, manager, hasPackages: hasPackagesBelow(source, place) };
}

/** Returns a folder and those above it, up to the root of the repository. */
export function listFoldersUpwards(folder: string): string[] {
  const parts = folder.split('/').filter((part) => part !== '' && part !== '.');
  return parts.map((_, at) => parts.slice(0, parts.length - at).join('/')).concat('');
}

/** Returns the part of a lock file that names its version. */
function readLockHead(source: string, file: string): string {
  const real = resolveRealFile(source, file);
  return real === undefined ? '' : readFileSync(real, 'utf8').slice(0, 2000);
}

const hasPackagesBelow = (source: string, folder: string): boolean =>
  listWorkspaceFolders(source, folder).some((each) => {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } =
      readPackageJson(source, each) ?? {};
    return [dependencies, devDependencies, optionalDependencies, peerDependencies].some(
      (list) => Object.keys(list ?? {}).length > 0,
    );
  });

/** Returns folders of a workspace's members, and last its root. Package managers run their scripts in this order. */
export function listWorkspaceFolders(source: string, folder: string): string[] {
  const patterns = [
    ...readWorkspaces(readPackageJson(source, folder)?.workspaces),
    ...readPnpmWorkspaces(source, folder),
  ];
  const cwd = path.join(source, folder);
  const exclude = patterns
    .filter((pattern) => pattern.startsWith('!'))
    .map((pattern) => pattern.slice(1));
  const found = globSync(
    patterns
      .filter((pattern) => !pattern.startsWith('!'))
      .map((pattern) => path.posix.join(pattern, 'package.json')),
    { cwd, exclude: ['**/node_modules/**', ...exclude] },
  );
  const members = found
    .map((file) => path.posix.join(folder, path.posix.dirname(file)))
    .filter((each) => readPackageJson(source, each) !== undefined);
  return [...new Set(members)]
    .filter((each) => each !== folder && each !== '.')
    .toSorted()
    .concat(folder);
}

function readWorkspaces(workspaces: unknown): string[] {
  const list: unknown = Array.isArray(workspaces)
    ? workspaces
    : (workspaces as { packages?: unknown } | undefined)?.packages;
  return Array.isArray(list) ? list.filter((pattern) => typeof pattern === 'string') : [];
}

function readPnpmWorkspaces(source: string, folder: string): string[] {
  const file = resolveRealFile(source, path.join(folder, 'pnpm-workspace.yaml'));
  if (file === undefined) return [];
  try {
    return readWorkspaces(parse(readFileSync(file, 'utf8')));
  } catch {
    throw new StageFailed(
      'InstallFailed',
      `${path.join(folder, 'pnpm-workspace.yaml')} is not valid YAML.`,
    );
  }
}
