import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/*
 * The folder that this container shares with the one of the database's programs: `dump` is a pipe, `error` the words of
 * those programs, and `end` their exit status, written last. `go` and `stop` are ours.
 */

const LOOK_EVERY = 100;

/** Lets the other container begin. It waits until the target is known to be right. */
export const begin = (folder: string): Promise<void> => writeFile(join(folder, 'go'), '');
/** Lets the other container end. */
export const giveUp = (folder: string): Promise<void> => writeFile(join(folder, 'stop'), '');

/** Returns the last words of the other container's programs. */
export const lastWords = async (folder: string): Promise<string> =>
  (await readFile(join(folder, 'error'), 'utf8').catch(() => '')).trim().slice(-1500);

/** Waits until one of these files is there, and returns its name. */
export async function appears(folder: string, files: readonly string[], signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    for (const file of files) if (await isThere(join(folder, file))) return file;
    await wait(LOOK_EVERY, undefined, { signal });
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
