import { setTimeout as wait } from 'node:timers/promises';
import type { Agent } from './stage.ts';

type Load = {
  /** Threads of the runs that were accepted. */
  accepted: string[];
  /** Why the last run was not. */
  refusal(): unknown;
  stop(): Promise<void>;
};

/** Starts runs one after the other, each in a thread of its own. */
export function startLoad({ client }: Pick<Agent, 'client'>): Load {
  const accepted: string[] = [];
  const ending = new AbortController();
  let refused: unknown;
  const start = async (): Promise<void> => {
    const { thread_id: thread } = await client.threads.create();
    await client.runs.create(thread, 'stepping', { input: { round: thread, milliseconds: 1 } });
    accepted.push(thread);
  };
  const work = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      // Nobody answers while the data is replaced.
      await start().catch((error: unknown) => (refused = error));
      await wait(200);
    }
  };
  const working = work();
  const stop = (): Promise<void> => {
    ending.abort();
    return working;
  };
  return { accepted, refusal: () => refused, stop };
}
