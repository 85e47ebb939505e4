import path from 'node:path';
import { Worker, type ResourceLimits } from 'node:worker_threads';
import { readUserCodeEnv } from '../../config/env.ts';
import { toError } from '../../errors.ts';

export type ThreadListener<Message> = {
  message(message: Message): void;
  crashed(error: Error): void;
  /** Says that the thread has ended; nothing more is heard of it. */
  ended(): void;
};

export type OpenedThread<Message> = {
  send(message: Message): void;
  /** Ends the thread without a word; settles once it has ended. */
  kill(): Promise<void>;
};

/** The ending of the file beside this one: `.js`, like this one, in the compiled package for developers. */
const ENDING = path.extname(import.meta.url);

/**
 * Opens the thread whose `main` lies in this folder of `src/agent`. It crashes when it takes more than its limits, and
 * finds `data` in its `workerData`.
 */
export function openThread<ToThread, FromThread>(
  folder: string,
  listener: ThreadListener<FromThread>,
  { data, ...resourceLimits }: ResourceLimits & { data?: SharedArrayBuffer },
): OpenedThread<ToThread> {
  const worker = new Worker(new URL(`../${folder}/main${ENDING}`, import.meta.url), {
    execArgv: [],
    env: readUserCodeEnv(),
    resourceLimits,
    workerData: data,
  });
  worker.on('message', (message: FromThread) => listener.message(message));
  worker.on('error', (error) => listener.crashed(toError(error)));
  worker.once('exit', () => listener.ended());
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
    send: (message) => worker.postMessage(message),
    kill: async () => {
      await worker.terminate();
    },
  };
}
