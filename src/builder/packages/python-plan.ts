import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { StageFailed } from '../../errors.ts';
import { isFolder, type GxJson } from '../../schema/agent/gx-json.ts';
import { isPythonProject, parseLockMembers } from '../../schema/uv-lock.ts';
import { isWithin, resolveRealFile } from '../work.ts';
import { listFoldersUpwards } from './project.ts';

/*
 * How the packages of a project in Python are installed, as its files say. All paths go from the root of the
 * repository; the root itself is an empty path.
 */

/** Locks of other tools: their versions and hashes hold, and the resolver of uv chooses among them. */
const OTHER_LOCKS = ['poetry.lock', 'pdm.lock'] as const;

/** A folder that gx.json names: a package with a pyproject.toml or setup.py, or files that are imported as they are. */
export type PythonFolder = {
  folder: string;
  isPackage: boolean;
  /** The folder of uv.lock: the package's own, or that of its workspace. */
  uvLock?: string;
  /** A member of the workspace of `uvLock`, where `source.package` names one. */
  member?: string;
  /** The file that says what to install where there is no uv.lock. */
  requirements?: string;
  /** poetry.lock or pdm.lock. */
  otherLock?: string;
};

export type PythonPlan = {
  folders: PythonFolder[];
  /** Packages that gx.json itself names. */
  named: string[];
  pipFile?: string;
  /** The version of Python that gx.json asks for. */
  version?: string;
  /** Whether the files say all versions, so that two installations are the same. */
  locked: boolean;
};

/** Returns how packages are installed. Throws for a file that gx.json names and the repository has not. */
export function planPythonInstall(source: string, folder: string, settings: GxJson): PythonPlan {
  const { dependencies = ['.'], pip_config_file: pipFile, python_version: version } = settings;
  const uv = readUvSource(settings);
  const folders =
    uv === undefined
      ? dependencies
          .filter(isFolder)
          .map((name) =>
            readPythonFolder(source, requirePlace(source, folder, { key: 'dependencies', name })),
          )
      : [
          chooseMember(source, folder, {
            ...uv,
            root: requirePlace(source, folder, { key: 'source', name: uv.root }),
          }),
        ];
  const named = uv === undefined ? dependencies.filter((name) => !isFolder(name)) : [];
  return {
    folders,
    named,
    ...(pipFile !== undefined && {
      pipFile: requireFile(source, folder, { key: 'pip_config_file', name: pipFile }),
    }),
    ...(version !== undefined && { version }),
    locked: named.length === 0 && folders.every((each) => isLocked(source, each)),
  };
}

/** `source` of gx.json: a workspace of uv, and the member that is the agent. */
function readUvSource({
  source,
  dependencies = [],
}: GxJson): { root: string; package?: string } | undefined {
  if (source === undefined || Object.keys(source).length === 0) return undefined;
  const { kind, root = '.', package: member } = source;
  if (kind !== 'uv')
    throw new StageFailed(
      'BuildFailed',
      '"source" of gx.json has a kind that is not "uv", the only one that is built.',
    );
  if (typeof root !== 'string' || (member !== undefined && typeof member !== 'string'))
    throw new StageFailed(
      'BuildFailed',
      '"source.root" and "source.package" of gx.json must be texts.',
    );
  if (dependencies.length > 0)
    throw new StageFailed(
      'BuildFailed',
      '"source" of gx.json says what is installed: remove "dependencies", or "source".',
    );
  return { root, ...(member !== undefined && { package: member }) };
}

type Named = { key: string; name: string };

/** Returns the path of a place that gx.json names from its folder. Throws where the repository has none. */
export function requirePlace(source: string, folder: string, { key, name }: Named): string {
  const place = path.resolve(source, folder, name);
  if (!isWithin(source, place) || !existsSync(place))
    throw new StageFailed(
      'BuildFailed',
      `"${key}" of gx.json names ${name}, which the repository does not have.`,
    );
  return path.relative(source, place).split(path.sep).join('/');
}

function requireFile(source: string, folder: string, named: Named): string {
  const place = requirePlace(source, folder, named);
  if (resolveRealFile(source, place) !== undefined) return place;
  throw new StageFailed(
    'BuildFailed',
    `"${named.key}" of gx.json names ${named.name}, which leads out of the repository.`,
  );
}

/** Returns the member of a workspace that `source` names, or else the one in which gx.json lies, or else its root. */
function chooseMember(
  source: string,
  folder: string,
  { root, package: member }: { root: string; package?: string },
): PythonFolder {
  if (!hasFile(source, root, 'uv.lock'))
    throw new StageFailed(
      'BuildFailed',
      `"source" of gx.json asks for uv.lock in ${root || 'the root'}, and there is none: run uv lock.`,
    );
  if (member !== undefined) return { folder: root, isPackage: true, uvLock: root, member };
  const inside = listFoldersUpwards(folder).filter(
    (each) => each !== root && (root === '' || each.startsWith(`${root}/`)),
  );
  return {
    folder: inside.find((each) => isProject(source, each)) ?? root,
    isPackage: true,
    uvLock: root,
  };
}

function readPythonFolder(source: string, folder: string): PythonFolder {
  const hasProject = isProject(source, folder);
  const isPackage = hasFile(source, folder, 'setup.py') || hasProject;
  const uvLock = hasProject
    ? listFoldersUpwards(folder).find((place) => hasLock(source, folder, place))
    : undefined;
  if (uvLock !== undefined) return { folder, isPackage, uvLock };
  const file = ['pyproject.toml', 'setup.py', 'requirements.txt'].find(
    (name) => (name === 'pyproject.toml' ? hasProject : true) && hasFile(source, folder, name),
  );
  const otherLock = hasProject
    ? OTHER_LOCKS.find((name) => hasFile(source, folder, name))
    : undefined;
  return {
    folder,
    isPackage,
    ...(file !== undefined && { requirements: path.posix.join(folder, file) }),
    ...(otherLock !== undefined && { otherLock: path.posix.join(folder, otherLock) }),
  };
}

const readText = (source: string, name: string): string | undefined => {
  const real = resolveRealFile(source, name);
  return real === undefined ? undefined : readFileSync(real, 'utf8');
};

const hasFile = (source: string, folder: string, name: string): boolean =>
  resolveRealFile(source, path.join(folder, name)) !== undefined;

/** Returns whether the uv.lock of a place is that of the project in a folder: its own, or that of its workspace. */
function hasLock(source: string, folder: string, place: string): boolean {
  const lock = readText(source, path.join(place, 'uv.lock'));
  if (lock === undefined || place === folder) return lock !== undefined;
  return parseLockMembers(lock).some((member) => path.posix.join(place, member) === folder);
}

const isProject = (source: string, folder: string): boolean =>
  isPythonProject(readText(source, path.join(folder, 'pyproject.toml')));

function isLocked(source: string, { uvLock, requirements, otherLock }: PythonFolder): boolean {
  if (uvLock !== undefined || otherLock !== undefined || requirements === undefined) return true;
  const text = readText(source, requirements) ?? '';
  // A pyproject.toml that speaks of no dependencies has none.
  return requirements.endsWith('.toml')
    ? !/dependencies|dynamic/.test(text)
    : requirements.endsWith('.txt') && hasHashes(text);
}

/** Returns whether each requirement of a file has a version and a hash, and none is of another file. */
export function hasHashes(requirements: string): boolean {
  const lines = requirements
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*/, '').trim())
    .filter((line) => line !== '');
  return lines.length > 0 && lines.every((line) => /^[A-Za-z0-9][^@]*==.*--hash=/.test(line));
}

/** Returns a line for each folder that says what decides about its packages. */
export function describeDecidingFiles({ folders, named }: PythonPlan): string[] {
  const formatPlace = ({ folder }: PythonFolder): string => folder || 'the root';
  return [
    ...folders.map((each) => {
      if (each.uvLock !== undefined)
        return `packages of Python: uv.lock of ${each.uvLock || 'the root'} for ${formatPlace(each)}`;
      if (each.requirements === undefined)
        return `packages of Python: none for ${formatPlace(each)}`;
      if (each.otherLock !== undefined)
        return `packages of Python: ${each.requirements}, in the versions of ${each.otherLock}`;
      return `packages of Python: ${each.requirements}`;
    }),
    ...(named.length === 0 ? [] : [`packages of Python: ${named.join(', ')} of gx.json`]),
  ];
}

/** Returns a line for each file whose packages may be other ones tomorrow. */
export function describeUnlockedFiles(source: string, { folders, named }: PythonPlan): string[] {
  const unlocked = folders
    .filter((each) => !isLocked(source, each))
    .map(({ requirements }) => requirements);
  const files = [...unlocked, ...(named.length === 0 ? [] : ['"dependencies" of gx.json'])];
  return files.map(
    (file) => `${file} has no hashes, so each build takes the newest packages that fit`,
  );
}
