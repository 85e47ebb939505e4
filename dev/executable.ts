import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { readDevConfig } from './env.ts';

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Folders that are searched for commands. Debian's administration commands are not on every user's PATH. */
export const searchPath = (): string[] => [
  ...readDevConfig().path,
  '/usr/local/sbin',
  '/usr/sbin',
  '/sbin',
];

/** Returns the full path of a command in these folders, or undefined if none of them has it. */
export const findExecutable = (name: string, folders = searchPath()): string | undefined =>
  folders.map((folder) => join(folder, name)).find(isExecutable);
