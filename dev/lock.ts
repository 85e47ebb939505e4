import { createServer, type Server } from 'node:net';
import { until } from './wait.ts';

/** Runs `work` while no other process of this machine holds the lock of that name. */
export async function locked<T>(name: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const free = await listen(name);
  if (free === undefined) onWait();
  const lock = free ?? (await until({ what: `the lock ${name}`, seconds: Infinity, every: 250 }, () => listen(name)));
  try {
    return await work();
  } finally {
    lock.close();
  }
}

// The kernel frees an abstract socket when its holder dies, so the lock is never stale.
function listen(name: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(`\0gx-platform-${name}`, () => resolve(server.unref()));
  });
}
