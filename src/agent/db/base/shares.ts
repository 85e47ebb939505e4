/** Connections of one server process: its own pool, and that of each thread that runs graphs. */
export type Shares = { server: number; threads: number; perThread: number };

export type LanguageShares = Shares & Threads;
type Threads = { javascript: number; python: number };

/** The connection that hears signals. */
const LISTENING = 1;
/** The least connections of a pool: a transaction holds one while a statement beside it waits for another. */
const LEAST = 2;

/**
 * Shares out the connections of a process: half of them go to the threads, the rest to the server. There are fewer
 * threads when the connections are not enough for all.
 */
export function shareOut({
  connections,
  poolSize,
  threads,
}: {
  /** All connections that the process may open; undefined where nobody counts them. */
  connections: number | undefined;
  poolSize: number;
  threads: number;
}): Shares {
  const wanted = Math.max(LEAST, Math.ceil(poolSize / 4));
  if (connections === undefined) return { server: poolSize, threads, perThread: wanted };
  const open = Math.max(2 * LEAST, connections - LISTENING);
  const fitting = Math.max(1, Math.min(threads, Math.floor((open - LEAST) / LEAST)));
  const perThread = Math.max(LEAST, Math.min(wanted, Math.floor(open / 2 / fitting)));
  return { server: Math.min(poolSize, open - fitting * perThread), threads: fitting, perThread };
}

/**
 * Returns how many of the threads each language gets. All of JavaScript's go first, but for one of Python. Undefined
 * where there is only one thread for two languages.
 */
export function splitShares(shares: Shares, wanted: Threads): LanguageShares | undefined {
  const { threads } = shares;
  if (wanted.python === 0) return { ...shares, javascript: threads, python: 0 };
  if (wanted.javascript === 0) return { ...shares, javascript: 0, python: threads };
  if (threads < 2) return undefined;
  const python = Math.min(wanted.python, Math.max(1, threads - wanted.javascript));
  return { ...shares, javascript: threads - python, python };
}
