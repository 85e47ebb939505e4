import { constants } from 'node:fs';
import { access, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { BackupFailed } from './s3/failure.ts';

/*
 * The folder that the container with pg_dump shares with this one: `dump` is a pipe, `facts` a line about the database,
 * `error` pg_dump's own words, and `end` its exit status, written after the pipe was closed. `go` and `stop` are ours.
 */

export type DumpFacts = { postgres: string; migration: number; from: string };

const LOOK_EVERY = 100;
/** Milliseconds for which the exit status may come after the end of the pipe. */
const END_WITHIN = 30_000;

/** Lets pg_dump begin. It waits until the target is known to take the backup. */
export const begin = (folder: string): Promise<void> => writeFile(join(folder, 'go'), '');
/** Lets the container with pg_dump end. */
export const giveUp = (folder: string): Promise<void> => writeFile(join(folder, 'stop'), '');

/** Reads the dump as it is made. */
export async function* dumped(folder: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  await appears(join(folder, 'dump'), signal);
  const pipe = await open(join(folder, 'dump'), constants.O_RDONLY);
  try {
    for await (const piece of pipe.createReadStream({ highWaterMark: 262_144, signal })) yield piece as Buffer;
  } finally {
    await pipe.close().catch(() => undefined);
  }
}

/** Returns when pg_dump has succeeded. Throws with its own words if it failed or was killed. */
export async function requireWhole(folder: string, signal: AbortSignal, within = END_WITHIN): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(within)]);
  const ended = await appears(join(folder, 'end'), limit).then(
    () => true,
    () => false,
  );
  signal.throwIfAborted();
  const status = ended ? (await readFile(join(folder, 'end'), 'utf8')).trim() : undefined;
  if (status === '0') return;
  const words = (await readFile(join(folder, 'error'), 'utf8').catch(() => '')).trim().slice(-1500);
  const how = status === undefined ? 'pg_dump was ended before it had finished' : `pg_dump failed with status ${status}`;
  throw new BackupFailed('DumpFailed', `${how}${words === '' ? '.' : `: ${words}`}`);
}

/** Reads the facts about the database, which are written before the dump: version, migration and time, one a line. */
export async function dumpFacts(folder: string): Promise<DumpFacts> {
  const [postgres = '', migration = '', from = ''] = (await readFile(join(folder, 'facts'), 'utf8')).trim().split('\n');
  if (Number.isNaN(Date.parse(from))) throw new BackupFailed('DumpFailed', 'The database did not report its version and its time.');
  return { postgres, migration: Number(migration), from: new Date(from).toISOString() };
}

async function appears(path: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    await wait(LOOK_EVERY, undefined, { signal });
  }
}
