import { constants } from 'node:fs';
import { lstat, open, rename, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Rejected } from '../errors.ts';

/*
 * The two folders between this container and the one with the programs of the database, which reads `orders` alone and
 * writes `answers` alone: each is mounted read-only at the other side. The tenant's data may have made those programs
 * write anything, so no answer is believed: a link is not followed, and neither is a device or a socket opened. `dump`
 * is a pipe there, `error` the words of those programs, and `end` their exit status, written last.
 */

const LOOK_EVERY = 100;
/** Bytes of an answer at most: the largest are the counts of all tables, some 60 bytes a table. */
const LONGEST_ANSWER = 4 * 1_048_576;

/** Writes a file for the other container. It is there as a whole or not at all. */
export async function writeOrder(pipe: string, name: string, text: string): Promise<void> {
  const path = join(pipe, 'orders', name);
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

/** Lets the other container begin. It waits until the target is known to be right. */
export const begin = (pipe: string): Promise<void> => writeOrder(pipe, 'go', '');
/** Lets the other container end. */
export const giveUp = (pipe: string): Promise<void> => writeOrder(pipe, 'stop', '');

/** Reads an answer of the other container. Throws if it is no regular file, or longer than any answer. */
export async function readAnswer(pipe: string, name: string): Promise<string> {
  const file = await openAnswer(pipe, name, constants.O_RDONLY);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw buildRejection(name, 'is not a regular file');
    if (found.size > LONGEST_ANSWER)
      throw buildRejection(name, `is longer than ${LONGEST_ANSWER} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Opens the pipe for the bytes of a dump, to read or to write. Resolves once the other side has opened it, too. */
export async function openDump(pipe: string, way: 'read' | 'write'): Promise<FileHandle> {
  const found = await lstat(join(pipe, 'answers', 'dump'));
  if (!found.isFIFO()) throw buildRejection('dump', 'is not a pipe');
  const file = await openAnswer(
    pipe,
    'dump',
    way === 'read' ? constants.O_RDONLY : constants.O_WRONLY,
    0,
  );
  // Another file may have taken its place meanwhile.
  if ((await file.stat()).isFIFO()) return file;
  await file.close();
  throw buildRejection('dump', 'is not a pipe');
}

/** A pipe without another side must hold nobody up who wants to read a file. */
async function openAnswer(
  pipe: string,
  name: string,
  mode: number,
  waiting: number = constants.O_NONBLOCK,
): Promise<FileHandle> {
  try {
    return await open(join(pipe, 'answers', name), mode | constants.O_NOFOLLOW | waiting);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw buildRejection(name, 'is a link');
    throw error;
  }
}

const buildRejection = (name: string, how: string): Rejected =>
  new Rejected(
    `The answer "${name}" of the container with the database's programs ${how}, so it was not read.`,
  );

/** Returns the last words of the other container's programs. */
export const readErrorOutput = async (pipe: string): Promise<string> =>
  (await readAnswer(pipe, 'error').catch(() => '')).trim().slice(-1500);

/** Waits until one of these answers is there, and returns its name. */
export async function waitForAnswer(
  pipe: string,
  files: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    for (const file of files) if (await isThere(join(pipe, 'answers', file))) return file;
    await wait(LOOK_EVERY, undefined, { signal });
  }
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
