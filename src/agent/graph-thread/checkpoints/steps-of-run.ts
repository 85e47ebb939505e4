import type { Step } from '../../db/checkpoints.ts';
import type { Batcher } from '../../db/batcher.ts';

/** Steps of several runs share statements. */
export type SharedWrites = Batcher<StepsOfRun, undefined>;

/** Settles when what a run has emitted so far can be read by whoever comes back. */
export type Barrier = () => Promise<void>;

type RunSettings = {
  threadId?: string;
  /** The graph goes on before its steps are stored; whoever reads them, and the end of the run, waits. */
  ahead?: boolean;
  /** The thread has no checkpoint. */
  empty?: boolean;
  written?: Barrier | undefined;
  metadata?: object | undefined;
};

/**
 * The steps of one run, stored in the order in which they came: each statement takes all that came while the last one
 * was under way. After a failure nothing more is stored, so that what is there is always a beginning of what there was.
 */
export class StepsOfRun {
  readonly threadId: string | undefined;
  /**
   * What each step waits for before it is stored: the run's next attempt goes on behind what is stored, and would not
   * send the events before it again.
   */
  readonly written: Barrier | undefined;
  /** What each of its checkpoints carries beside LangGraph's own metadata. */
  readonly metadata: object;
  readonly #shared: SharedWrites;
  readonly #ahead: boolean;
  #empty: boolean;
  readonly #underWay = new Set<Promise<unknown>>();
  #waiting: Step[] = [];
  #sent: Step[] | undefined;
  #sending: Promise<void> | undefined;
  #failed = false;
  #closed = false;

  constructor(shared: SharedWrites, { threadId, ahead = false, empty = false, written, metadata = {} }: RunSettings = {}) {
    this.#shared = shared;
    this.threadId = threadId;
    this.#ahead = ahead;
    this.#empty = empty;
    this.written = written;
    this.metadata = metadata;
  }

  /**
   * True once, where the thread has no checkpoint: the run, which asks for the last one first, is spared the question.
   */
  isFirstLook(): boolean {
    const first = this.#empty;
    this.#empty = false;
    return first;
  }

  /** Lets `work` make a step and add it; nothing happens once the run is over. */
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

  /**
   * Settles when the step is stored. For a run that goes ahead it settles at once, until a step could not be stored.
   */
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

  /**
   * Ends the run: waits for what LangGraph still writes for a graph that was stopped, drops what comes later, returns
   * what failed.
   */
  async close(): Promise<unknown> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
    return this.#sending?.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** Returns what the next statement stores: the same until `taken`. */
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

/** Returns how many steps, from the first, share no row: one statement can't write a row twice. */
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

/** Returns what identifies the rows that a step makes or replaces. */
const rowsOf = (step: Step): string[] =>
  'put' in step
    ? [step.put.key.join('/')]
    : step.writes.writes.map(({ index }) => [...step.writes.key, step.writes.taskId, index].join('/'));
