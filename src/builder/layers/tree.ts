import {
  lstatSync,
  mkdirSync,
  linkSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  type Stats,
} from 'node:fs';
import path from 'node:path';

/** A file, folder or link of a tree. `name` is its path from the tree's root, with slashes. */
export type TreeEntry = {
  name: string;
  kind: 'file' | 'folder' | 'link';
  size: number;
  executable: boolean;
  target: string;
  stats: Stats;
};

/**
 * Returns the entries below a folder, sorted by name, without those that `leaveOut` names and all below them. Sockets,
 * pipes and devices are no part of an image.
 */
export function readTree(
  root: string,
  leaveOut: (name: string) => boolean = () => false,
): TreeEntry[] {
  const found: TreeEntry[] = [];
  const visit = (folder: string): void => {
    for (const child of readdirSync(path.join(root, folder))) {
      const name = folder === '' ? child : `${folder}/${child}`;
      if (leaveOut(name)) continue;
      const entry = readEntry(root, name);
      if (entry === undefined) continue;
      found.push(entry);
      if (entry.kind === 'folder') visit(name);
    }
  };
  visit('');
  return found.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function readEntry(root: string, name: string): TreeEntry | undefined {
  const file = path.join(root, name);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const executable = (stats.mode & 0o100) !== 0;
  const common = { name, size: 0, executable, target: '', stats };
  if (stats.isDirectory()) return { ...common, kind: 'folder' };
  if (stats.isSymbolicLink()) return { ...common, kind: 'link', target: readlinkSync(file) };
  return stats.isFile() ? { ...common, kind: 'file', size: stats.size } : undefined;
}

const PACKAGES = 'node_modules';
/** The virtual environment of a project in Python, in the root of the repository. */
export const VENV = '.venv';

/** Returns whether a name lies in a folder of installed packages, or is one. */
export const isOfPackages = (name: string): boolean =>
  name.split('/').includes(PACKAGES) || name === VENV || name.startsWith(`${VENV}/`);

/**
 * Notes of package managers for themselves: with times and folders of this build, so that no two are the same.
 */
const NOTES =
  /(^|\/)node_modules\/(\.cache(\/|$)|\.modules\.yaml$|\.pnpm-workspace-state[^/]*$|\.yarn-state\.yml$|\.yarn-integrity$|\.pnpm\/lock\.yaml$)/;
export const isNote = (name: string): boolean => NOTES.test(name);

/** Returns a text that changes when a file does. Its content is not read. */
export const buildFileSignature = ({ kind, size, executable, target, stats }: TreeEntry): string =>
  kind === 'file' ? `${stats.ino} ${size} ${stats.mtimeMs} ${executable}` : `${kind} ${target}`;

/** Makes a second tree of the same files. A file that is written again in one of them stays as it was in the other. */
export function linkTree(root: string, to: string, entries: readonly TreeEntry[]): void {
  mkdirSync(to, { recursive: true });
  for (const { name, kind, target } of entries) {
    const place = path.join(to, name);
    if (kind === 'folder') mkdirSync(place, { recursive: true });
    else if (kind === 'link') symlinkSync(target, place);
    else linkSync(path.join(root, name), place);
  }
}
