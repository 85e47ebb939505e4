import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { asError } from '../../errors.ts';
import type { FromThread, Operation, ToThread } from './protocol.ts';

/** The graph side of the protocol, wherever it runs. */
export type Runner = {
  send<K extends Operation>(message: ToThread<K>): void;
  /** Ends the runner without a word; settles once it has ended. */
  kill(): Promise<void>;
};

/** What its host hears of a runner. */
export type RunnerListener = {
  message(message: FromThread): void;
  /** Says why the runner is about to end. */
  crashed(error: Error): void;
  /** Says that the runner has ended; nothing more is heard of it. */
  ended(): void;
};

/** Opens a runner, which waits for `start`. It crashes when it takes more than `heapMegabytes`. */
export type OpenRunner = (listener: RunnerListener, limits: { heapMegabytes: number }) => Runner;

/**
 * Megabytes of V8's young generation. Node's default is 48; with 12 a thread takes 45 MB less at the same CPU time a
 * run (docs/decisions/0001-worker-threads.md).
 */
const YOUNG_MEGABYTES = 12;

/**
 * Percent by which heaps may grow between two collections of long-lived objects. By default V8 lets them grow
 * threefold, and a server under load then holds much memory that is free.
 */
const GROWTH = 60;

/** The ending of the file beside this one: `.js`, like this one, in the compiled package for developers. */
const ENDING = path.extname(import.meta.url);

/** Opens a runner in a worker thread of this process, whose heaps grow slowly from then on. */
export const openWorker: OpenRunner = (listener, { heapMegabytes }) => {
  // V8 reads this flag at each collection. It can't stand in NODE_OPTIONS.
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
  const worker = new Worker(new URL(`../graph-thread/main${ENDING}`, import.meta.url), {
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES, maxOldGenerationSizeMb: heapMegabytes },
  });
  worker.on('message', (message: FromThread) => listener.message(message));
  worker.on('error', (error) => listener.crashed(asError(error)));
  worker.once('exit', () => listener.ended());
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
    send: (message) => worker.postMessage(message),
    kill: async () => {
      await worker.terminate();
    },
  };
};
