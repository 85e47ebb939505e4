import { setTimeout as wait } from 'node:timers/promises';

/** Calls again and again, `pause` milliseconds apart, until told to stop; keeps what went wrong. */
export function prober(work: (round: number) => Promise<void>, pause: number) {
  const failures: string[] = [];
  let rounds = 0;
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      rounds += 1;
      await work(rounds).catch((error: unknown) => failures.push(`${new Date().toISOString()} ${String(error)}`));
      await wait(pause);
    }
  };
  const done = loop();
  return {
    stop: async () => {
      stopping.abort();
      await done;
      return { rounds, failures };
    },
  };
}
