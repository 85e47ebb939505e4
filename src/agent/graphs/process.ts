import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { openThread } from '../kernel/open-thread.ts';
import type { OpenRunner } from './worker.ts';

/**
 * Milliseconds in which the thread of a process that was ended stores the last steps, and ends by itself. Only this
 * thread takes the process from the machine's table, where it would stay for as long as the server.
 */
const ENDS_WITHIN = 500;

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself meanwhile.
  }
}

/**
 * Opens a runner in another process, for which a worker thread of this one stores. The process never outlives that
 * thread.
 */
export const openProcess: OpenRunner = (listener) => {
  const data = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const gone = Promise.withResolvers<void>();
  let isKilled = false;
  /** Returns whether there was a process. */
  const endProcess = (): boolean => {
    const pid = Atomics.exchange(new Int32Array(data), 0, 0);
    if (pid > 0) end(pid);
    return pid > 0;
  };
  const handleEnd = (): void => {
    endProcess();
    listener.ended();
    gone.resolve();
  };
  const handleCrash = (error: Error): void => {
    if (!isKilled) listener.crashed(error);
  };
  const thread = openThread<never, never>(
    'process-runner',
    { ...listener, crashed: handleCrash, ended: handleEnd },
    { data },
  );
  return {
    ...thread,
    kill: async () => {
      isKilled = true;
      if (endProcess()) await Promise.race([gone.promise, wait(ENDS_WITHIN)]);
      await thread.kill();
    },
  };
};
