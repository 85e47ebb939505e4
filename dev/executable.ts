import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { devConfig } from './env.ts';

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Folders in which commands are looked for. Debian's administration commands are not on every user's PATH. */
export const searchPath = (): string[] => [...devConfig().path, '/usr/local/sbin', '/usr/sbin', '/sbin'];

/** The full path of a command, looked for in these folders; undefined where none of them has it. */
export const findExecutable = (name: string, folders = searchPath()): string | undefined =>
  folders.map((folder) => join(folder, name)).find(isExecutable);
