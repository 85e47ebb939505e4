import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { MissingRequirement } from '../../errors.ts';

const root = '/sys/fs/cgroup';
const isUnified = (): boolean => existsSync(join(root, 'cgroup.controllers'));

/** Returns every hierarchy of cgroup version 1, or the only one of version 2. */
function listHierarchies(): string[] {
  if (isUnified()) return [root];
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const found = mounts
    .map((line) => line.split(' '))
    .filter(([, , type]) => type?.startsWith('cgroup'));
  return found.flatMap(([, path]) => (path ? [path] : []));
}

/** Makes the kubelet's root group, which must exist with all the controllers that it uses. */
export function makeCgroup(group: string): void {
  for (const hierarchy of listHierarchies()) mkdirSync(join(hierarchy, group), { recursive: true });
  if (isUnified()) {
    for (const folder of [root, join(root, group)]) addControllers(folder);
  } else {
    copyCpus(group);
  }
}

// Controllers are delegated one by one, because a kernel may refuse one that nobody here needs.
function addControllers(folder: string): void {
  const control = join(folder, 'cgroup.subtree_control');
  for (const name of readControllers(join(folder, 'cgroup.controllers'))) {
    try {
      writeFileSync(control, `+${name}`);
    } catch {
      continue;
    }
  }
  const missing = ['cpu', 'memory', 'pids'].filter(
    (name) => !readControllers(control).includes(name),
  );
  if (missing.length > 0)
    throw new MissingRequirement(
      `The native cluster needs the cgroup controllers ${missing.join(', ')} in ${folder}.`,
    );
}

const readControllers = (file: string): string[] =>
  readFileSync(file, 'utf8').split(/\s+/).filter(Boolean);

// A new cpuset of version 1 has no processors, and nothing may run in it.
function copyCpus(group: string): void {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const from = join(root, 'cpuset', file);
    if (existsSync(from)) writeFileSync(join(root, 'cpuset', group, file), readFileSync(from));
  }
}

/** Returns whether a process is left in the group or below it. */
export const isCgroupBusy = (group: string): boolean =>
  listFolders(group).some(
    (folder) => readFileSync(join(folder, 'cgroup.procs'), 'utf8').trim() !== '',
  );

/** Removes the group from every hierarchy, deepest first. */
export function removeCgroup(group: string): void {
  for (const folder of listFolders(group)) rmdirSync(folder);
}

function listFolders(group: string): string[] {
  const tops = listHierarchies().map((hierarchy) => join(hierarchy, group));
  return tops.filter((top) => existsSync(top)).flatMap(listFolderTree);
}

function listFolderTree(folder: string): string[] {
  const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...below.flatMap((entry) => listFolderTree(join(folder, entry.name))), folder];
}
