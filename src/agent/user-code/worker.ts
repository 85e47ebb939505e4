import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { asError } from '../../errors.ts';
import type { FromUserCode, ToUserCode } from './protocol.ts';

/** Megabytes of the thread's heap: handlers look up a user, and a page of their cache. */
const HEAP_MEGABYTES = 256;
const YOUNG_MEGABYTES = 8;

/** The ending of the file beside this one: `.js`, like this one, in the compiled package for developers. */
const ENDING = path.extname(import.meta.url);

type Listener = { message(message: FromUserCode): void; crashed(error: Error): void; ended(): void };

export type UserCodeWorker = { send(message: ToUserCode): void; kill(): Promise<void> };

/** Opens the thread of the user's own code, which waits for `start`. */
export function openUserCode(listener: Listener): UserCodeWorker {
  const worker = new Worker(new URL(`../user-code-thread/main${ENDING}`, import.meta.url), {
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES, maxOldGenerationSizeMb: HEAP_MEGABYTES },
  });
  worker.on('message', (message: FromUserCode) => listener.message(message));
  worker.on('error', (error) => listener.crashed(asError(error)));
  worker.once('exit', () => listener.ended());
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
    send: (message) => worker.postMessage(message),
    kill: async () => {
      await worker.terminate();
    },
  };
}
