import { setTimeout as wait } from 'node:timers/promises';

/** Calls again and again, `pause` milliseconds apart, until told to stop; keeps what went wrong. */
export function prober(work: (round: number) => Promise<void>, pause: number) {
  const failures: string[] = [];
  let rounds = 0;
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      rounds += 1;
      await work(rounds).catch((error: unknown) => failures.push(`${new Date().toISOString()} ${told(error)}`));
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

/** An error with all its causes: `fetch failed` alone says nothing of what happened to the connection. */
function told(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause === undefined ? String(error) : `${String(error)}: ${told(cause)}`;
}
