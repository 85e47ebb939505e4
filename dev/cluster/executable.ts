import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Debian's administration commands are not on every user's PATH. */
export const searchPath = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin'].filter(
  (folder) => folder !== '',
);

export const onPath = (name: string): string | undefined => searchPath.map((folder) => join(folder, name)).find(isExecutable);
