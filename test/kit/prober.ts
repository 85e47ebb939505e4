import { setTimeout as wait } from 'node:timers/promises';

/** Calls `work` again and again, `pause` milliseconds apart, until it is stopped, and keeps what went wrong. */
export function prober(work: (round: number) => Promise<void>, pause: number) {
  const failures: string[] = [];
  let rounds = 0;
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      rounds += 1;
      await work(rounds).catch((error: unknown) =>
        failures.push(`${new Date().toISOString()} ${told(error)}`),
      );
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

/** Returns an error with all its causes, because `fetch failed` alone does not say what happened to the connection. */
function told(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause === undefined ? String(error) : `${String(error)}: ${told(cause)}`;
}
