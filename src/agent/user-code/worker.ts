import type { FromUserCode, ToUserCode } from '../../schema/wire/wall/user-code.ts';
import { openThread, type OpenedThread, type ThreadListener } from '../kernel/open-thread.ts';
import { SharedLiveness, type Liveness } from './liveness.ts';

/** The side of the protocol that runs the user's own code, wherever it runs. */
export type CodeRunner = OpenedThread<ToUserCode> & {
  readonly liveness: Readonly<Liveness>;
  /** Ends it once the application's lifespan has ended; absent where an application has none. */
  stop?(): Promise<void>;
};

/** Opens it; it waits for `start`. */
export type OpenCodeRunner = (listener: ThreadListener<FromUserCode>) => CodeRunner;

/** The thread's heap: handlers look up a user, and a page of their cache. */
const HEAP = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 256 };

/** Opens it in a worker thread of this process, which finds the memory of its liveness in its `workerData`. */
export const openCodeWorker: OpenCodeRunner = (listener) => {
  const liveness = new SharedLiveness();
  return {
    ...openThread<ToUserCode, FromUserCode>('user-code-thread', listener, {
      ...HEAP,
      data: liveness.memory,
    }),
    liveness,
  };
};
