import { createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const askEvery = 250;

/** Runs `work` while no other process of this machine holds the lock of that name. */
export async function locked<T>(name: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  let lock = await listen(name);
  if (lock === undefined) onWait();
  while (lock === undefined) {
    await sleep(askEvery);
    lock = await listen(name);
  }
  try {
    return await work();
  } finally {
    lock.close();
  }
}

// An abstract socket: the kernel frees it when its holder dies, so it can never be stale.
function listen(name: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(`\0gx-platform-${name}`, () => resolve(server.unref()));
  });
}
