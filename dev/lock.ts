import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { readDevConfig } from './env.ts';
import { waitUntil } from './wait.ts';

type Lock = { release(): void };

/** Takes the lock of that name if it is free. The kernel frees it when its holder dies, so it is never stale. */
type TakeLock = (name: string) => Promise<Lock | undefined>;

/** Runs `work` while no other process of this machine holds the lock of that name. */
export async function runLocked<T>(
  name: string,
  onWait: () => void,
  work: () => Promise<T>,
  take = chooseLock(process.platform),
): Promise<T> {
  const free = await take(name);
  if (free === undefined) onWait();
  const lock =
    free ??
    (await waitUntil({ what: `the lock ${name}`, seconds: Infinity, every: 250 }, () =>
      take(name),
    ));
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/** Returns the kind of lock that a platform has: only Linux knows sockets that are no files. */
export const chooseLock = (platform: string): TakeLock =>
  platform === 'linux' ? takeSocket : takeFile;

function takeSocket(name: string): Promise<Lock | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen(`\0gx-platform-${name}`, () =>
      resolve({ release: () => void server.unref().close() }),
    );
  });
}

/** Locks a file by SQLite, because Node itself has no call for it. */
async function takeFile(name: string): Promise<Lock | undefined> {
  const { DatabaseSync } = await import('node:sqlite');
  const folder = join(readDevConfig().cacheFolder, 'locks');
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(
    join(folder, createHash('sha256').update(name).digest('hex').slice(0, 16)),
    { timeout: 0 },
  );
  try {
    database.exec('BEGIN EXCLUSIVE');
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (/database is locked/.test(String(error))) return undefined;
    throw error;
  }
}
