import type { Step } from '../../db/checkpoints.ts';
import type { Batcher } from '../../db/batcher.ts';

/** Steps of several runs share statements. */
export type SharedWrites = Batcher<StepsOfRun, undefined>;

/**
 * What one run stores, in the order in which it came: each statement takes all that came while the last one was under way, and after a
 * failure nothing more is stored, so that what is there is always a beginning of what there was.
 */
export class StepsOfRun {
  readonly threadId: string | undefined;
  readonly #shared: SharedWrites;
  readonly #ahead: boolean;
  readonly #underWay = new Set<Promise<unknown>>();
  #waiting: Step[] = [];
  #sent: Step[] | undefined;
  #sending: Promise<void> | undefined;
  #failed = false;
  #closed = false;

  /** `ahead`: the graph goes on before its steps are stored; whoever reads them, and the end of the run, waits. */
  constructor(shared: SharedWrites, { threadId, ahead = false }: { threadId?: string; ahead?: boolean } = {}) {
    this.#shared = shared;
    this.threadId = threadId;
    this.#ahead = ahead;
  }

  /** Makes a step and adds it; nothing happens once the run is over. */
  async during(work: () => Promise<void>): Promise<void> {
    if (this.#closed) return;
    const working = work();
    this.#underWay.add(working);
    try {
      await working;
    } finally {
      this.#underWay.delete(working);
    }
  }

  /** Settles when the step is stored; at once for a run that goes ahead, until one could not be stored. */
  add(step: Step): Promise<void> {
    this.#waiting.push(step);
    this.#sending ??= this.#send();
    if (!this.#ahead || this.#failed) return this.#sending;
    this.#sending.catch(() => (this.#failed = true));
    return Promise.resolve();
  }

  /** Settles when nothing is on its way, stored or not. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#underWay, this.#sending]);
  }

  /** The run is over: what LangGraph still writes for a graph that was stopped is waited for, and what comes later is dropped. Returns what failed. */
  async close(): Promise<unknown> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
    return this.#sending?.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** What the next statement stores, the same until it has. */
  take(): Step[] {
    this.#sent ??= this.#waiting.splice(0, untilTwice(this.#waiting));
    return this.#sent;
  }

  taken(): void {
    this.#sent = undefined;
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) await this.#shared.add(this);
    this.#sending = undefined;
  }
}

/** How many steps, from the first, share no row, which one statement can't write twice. */
function untilTwice(steps: Step[]): number {
  const seen = new Set<string>();
  const end = steps.findIndex((step) => {
    const rows = new Set(rowsOf(step));
    const isTwice = [...rows].some((row) => seen.has(row));
    for (const row of rows) seen.add(row);
    return isTwice;
  });
  return end < 0 ? steps.length : end;
}

/** What identifies the rows that a step makes or replaces. */
const rowsOf = (step: Step): string[] =>
  'put' in step
    ? [step.put.key.join('/')]
    : step.writes.writes.map(({ index }) => [...step.writes.key, step.writes.taskId, index].join('/'));
