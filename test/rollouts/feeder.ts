import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@langchain/langgraph-sdk';

/** A run that was answered with its ids. `round` is in its input, and in the marks that its steps leave. */
export type Made = { round: string; thread: string; run: string };

/** Load on a counting agent: the runs that it made, and what the requests for others met. */
export type Feeder = { made: Made[]; failures: string[]; stop(): Promise<void> };

type Given = { client: Client; every: number; milliseconds: number };

/**
 * Makes a run every so many milliseconds, each on a thread of its own that stays, and waits for none. Each of a run's
 * two steps takes the milliseconds given.
 */
export function feed({ client, every, milliseconds }: Given): Feeder {
  const [made, failures]: [Made[], string[]] = [[], []];
  const stopping = new AbortController();
  const asked = new Set<Promise<void>>();
  const create = async (round: string): Promise<void> => {
    const input = { round, milliseconds };
    await client.runs
      .create(randomUUID(), 'counting', { input, ifNotExists: 'create', durability: 'sync' })
      .then(
        ({ thread_id, run_id }) => made.push({ round, thread: thread_id, run: run_id }),
        (error: unknown) => failures.push(String(error)),
      );
  };
  const loop = async (): Promise<void> => {
    for (let at = 1; !stopping.signal.aborted; at += 1) {
      const one = create(`round-${at}`).finally(() => asked.delete(one));
      asked.add(one);
      await wait(every);
    }
    await Promise.all(asked);
  };
  const done = loop();
  return { made, failures, stop: () => (stopping.abort(), done) };
}
