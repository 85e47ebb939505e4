import { setFlagsFromString } from 'node:v8';
import type { FromThread, ToThread } from '../../schema/wire/wall/graphs.ts';
import type { Operation } from '../../schema/wire/wall/operations.ts';
import { openThread, type OpenedThread, type ThreadListener } from '../kernel/open-thread.ts';

/** The graph side of the protocol, wherever it runs. */
export type Runner = Omit<OpenedThread<never>, 'send'> & {
  send<K extends Operation>(message: ToThread<K>): void;
};

/** Opens a runner, which waits for `start`. It crashes when it takes more than `heapMegabytes`. */
export type OpenRunner = (
  listener: ThreadListener<FromThread>,
  limits: { heapMegabytes: number },
) => Runner;

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

/** Opens a runner in a worker thread of this process, whose heaps grow slowly from then on. */
export const openWorker: OpenRunner = (listener, { heapMegabytes }) => {
  // V8 reads this flag at each collection. It can't stand in NODE_OPTIONS.
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
  return openThread('graph-thread', listener, {
    maxYoungGenerationSizeMb: YOUNG_MEGABYTES,
    maxOldGenerationSizeMb: heapMegabytes,
  });
};
