import process from 'node:process';
import { openThread } from '../kernel/open-thread.ts';
import type { OpenRunner } from './worker.ts';

/** Ends a process, unless it has ended. */
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
  const endProcess = (): void => {
    const pid = Atomics.exchange(new Int32Array(data), 0, 0);
    if (pid > 0) end(pid);
  };
  const ended = (): void => {
    endProcess();
    listener.ended();
  };
  const thread = openThread<never, never>('process-runner', { ...listener, ended }, { data });
  return {
    ...thread,
    kill: () => {
      endProcess();
      return thread.kill();
    },
  };
};
