import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { treeOf, type TreeEntry } from '../layers/tree.ts';
import { isWithin } from '../work.ts';
import type { Project } from './project.ts';
import type { PythonPlan } from './python-plan.ts';

/** Changes with the contents of the layers of packages. */
const FORMAT = 1;

/** Files of a project, besides package.json, that decide what is installed. */
const DECIDING =
  /(^|\/)(npm-shrinkwrap\.json|package-lock\.json|pnpm-lock\.yaml|pnpm-workspace\.yaml|\.pnpmfile\.c?js|yarn\.lock|\.yarnrc(\.yml)?|bun\.lockb?|bunfig\.toml|\.npmrc|\.node-version|\.nvmrc)$|(^|\/)(patches|\.yarn\/(patches|releases|plugins))\//;
/** Files of a project in Python that decide what is installed. Its own packages are installed by each build. */
const DECIDING_PYTHON =
  /(^|\/)(pyproject\.toml|setup\.(py|cfg)|(uv|poetry|pdm)\.(lock|toml)|\.python-version|[^/]*(requirement|constraint)[^/]*\.(txt|in))$/;
/** Parts of package.json that decide nothing. */
const DESCRIPTIVE = ['scripts', 'description', 'keywords', 'author', 'contributors', 'license', 'repository', 'homepage', 'bugs'];

/**
 * A plain call of a package manager, whose result depends on the files above alone. Any other command may read and
 * write anything.
 */
const PLAIN = /^(npm (ci|i|install)|pnpm (i|install)|yarn( install)?|bun (i|install))( --?[A-Za-z][A-Za-z-]*(=[A-Za-z0-9]+)?)*$/;

export type KeyParts = { source: string; projects: readonly Project[]; python?: PythonPlan; installCommand?: string; baseDigest: string };

/**
 * Returns the key of the projects' packages: the same key means the same packages. Undefined if they are installed
 * again each time: without a lock file, and by a command that may write files that no key covers.
 */
export function packagesKey({ source, projects, python, installCommand, baseDigest }: KeyParts): string | undefined {
  if (!isLocked({ projects, python })) return undefined;
  if (installCommand !== undefined && !PLAIN.test(installCommand.trim())) return undefined;
  const entries = treeOf(source, (name) => /(^|\/)(node_modules|\.git|\.venv)$/.test(name));
  const copied = foldersThatAreCopied(source, entries);
  const decides = (name: string): boolean =>
    DECIDING.test(name) || (python !== undefined && (DECIDING_PYTHON.test(name) || name === python.pipFile));
  const counted = entries.filter(({ name }) => decides(name) || copied.some((folder) => isWithin(folder, name)));
  const hash = createHash('sha256');
  const add = (...parts: string[]): void => void hash.update(`${JSON.stringify(parts)}\n`);
  add(String(FORMAT), process.version, process.platform, process.arch, baseDigest, installCommand ?? '');
  if (python !== undefined) add('python', JSON.stringify(python));
  for (const { folder, manager } of projects) add(folder, manager.name, manager.tool ?? '');
  for (const entry of counted)
    add(entry.name, entry.kind, entry.target, entry.kind === 'file' ? digestOf(path.join(source, entry.name)) : '');
  for (const { name } of entries.filter(isManifest)) add(name, deciding(path.join(source, name)));
  return hash.digest('hex');
}

const isLocked = ({ projects, python }: Pick<KeyParts, 'projects'> & { python: PythonPlan | undefined }): boolean =>
  python?.locked !== false && projects.every(({ manager, hasPackages }) => !hasPackages || manager.lockFile !== undefined);

const isManifest = ({ name, kind }: TreeEntry): boolean => kind === 'file' && path.posix.basename(name) === 'package.json';

const digestOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

function deciding(file: string): string {
  const text = readFileSync(file, 'utf8');
  try {
    const manifest = JSON.parse(text) as Record<string, unknown>;
    return JSON.stringify(Object.entries(manifest).filter(([key]) => !DESCRIPTIVE.includes(key)));
  } catch {
    return text;
  }
}

/** Returns folders that `file:` names: yarn and pnpm copy their content into node_modules. */
function foldersThatAreCopied(source: string, entries: readonly TreeEntry[]): string[] {
  return entries
    .filter(isManifest)
    .flatMap(({ name }) =>
      [...readFileSync(path.join(source, name), 'utf8').matchAll(/"file:([^"]+)"/g)]
        .map(([, target = '']) => path.posix.normalize(path.posix.join(path.posix.dirname(name), target)))
        .filter((target) => target !== '.' && !target.startsWith('..') && existsSync(path.join(source, target))),
    );
}
