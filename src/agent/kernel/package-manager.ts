import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/* This file names the commands that bring packages of npm into a user's project. */

const MANAGERS: readonly (readonly [lockFile: string, manager: string])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
];

const FIELDS = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'];

function* listFoldersAbove(file: string): Generator<string> {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    yield folder;
    if (folder === path.dirname(folder)) return;
  }
}

function findManager(file: string): string {
  for (const folder of listFoldersAbove(file)) {
    const found = MANAGERS.find(([lockFile]) => existsSync(path.join(folder, lockFile)));
    if (found !== undefined) return found[1];
  }
  return 'npm';
}

/** Returns the command that adds packages to the project of a file. */
export const addCommand = (file: string, packages: string): string => {
  const manager = findManager(file);
  return `${manager} ${manager === 'npm' ? 'install' : 'add'} ${packages}`;
};

/** Returns the command that brings a package which is not there: its project may name it, or lack it. */
export function buildInstallCommand(file: string, name: string): string {
  for (const folder of listFoldersAbove(file)) {
    const manifest = path.join(folder, 'package.json');
    if (!existsSync(manifest)) continue;
    const fields = JSON.parse(readFileSync(manifest, 'utf8')) as Record<
      string,
      Record<string, string> | undefined
    >;
    const isNamed = FIELDS.some((field) => fields[field]?.[name] !== undefined);
    return isNamed ? `${findManager(file)} install in ${folder}` : addCommand(file, name);
  }
  return addCommand(file, name);
}
