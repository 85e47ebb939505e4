import { later } from './waking.ts';

/** The most jobs of one namespace that run at a time, and the most that wait. */
const AT_A_TIME = 4;
const WAITING = 200;
/** Seconds after which a refused client may come back. */
const CROWDED = 2;

type Line = { running: number; waiting: (() => void)[] };

/** Does work for namespaces: some of each at a time, so that one whose work is slow holds up itself alone. */
export class NamespaceTurns {
  readonly #lines = new Map<string, Line>();

  /** Begins when it is the work's turn. Throws a 503 if too much waits. */
  async run<T>(namespace: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(namespace) ?? { running: 0, waiting: [] };
    this.#lines.set(namespace, line);
    if (line.running < AT_A_TIME) line.running += 1;
    else if (line.waiting.length >= WAITING) throw later('Too many tokens wait to be checked.', CROWDED);
    else await new Promise<void>((resolve) => line.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = line.waiting.shift();
      if (next === undefined) line.running -= 1;
      else next();
      if (line.running === 0) this.#lines.delete(namespace);
    }
  }
}
