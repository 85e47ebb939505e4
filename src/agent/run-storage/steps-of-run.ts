import { Conflict } from '../../errors.ts';
import type { AttemptOfRun, Step } from '../db/checkpoints/checkpoints.ts';
import { getCurrentContext } from '../kernel/encryption-context.ts';
import type { Batcher } from '../db/base/batcher.ts';

/** The writes of several runs, whose steps share statements. Each run hears whether it is still its attempt's. */
export type SharedWrites = Batcher<StepsOfRun, boolean>;

/** Settles when clients that come back can read all that a run has emitted so far. */
export type Barrier = () => Promise<void>;

type RunSettings = {
  threadId?: string;
  /** Whose steps they are; undefined for a state that is written by hand. An attempt that is over stores nothing. */
  attempt?: AttemptOfRun;
  /** Hears once that the run is another attempt's. */
  lost?: (() => void) | undefined;
  /** The graph goes on before its steps are stored. Readers of the steps wait, and so does the end of the run. */
  ahead?: boolean;
  /** The thread has no checkpoint. */
  empty?: boolean;
  written?: Barrier | undefined;
  metadata?: object | undefined;
};

/**
 * Stores the steps of one run in the order in which they came. Each statement takes all that came while the last one
 * was under way. After a failure nothing more is stored, so that the stored steps are always the first ones of the run.
 */
export class StepsOfRun {
  readonly threadId: string | undefined;
  readonly attempt: AttemptOfRun | undefined;
  readonly context = getCurrentContext();
  readonly #lost: (() => void) | undefined;
  /** Metadata that each checkpoint of the run carries beside LangGraph's own. */
  readonly metadata: object;
  /** Namespaces whose older checkpoints may be enough for a pack when the run is over. */
  readonly toPack = new Set<string>();
  readonly #shared: SharedWrites;
  readonly #ahead: boolean;
  /**
   * Each step waits for this before it is stored, because the run's next attempt goes on behind the stored steps, and
   * would not send the events before it again.
   */
  readonly #written: Barrier | undefined;
  readonly #wasEmpty: boolean;
  #empty: boolean;
  #checkpoints = 0;
  readonly #underWay = new Set<Promise<unknown>>();
  #waiting: Step[] = [];
  /** The number of those, from the first, that need not wait for events any more. */
  #cleared = 0;
  #sent: Step[] | undefined;
  #sending: Promise<void> | undefined;
  #failed = false;
  #closed = false;

  constructor(shared: SharedWrites, settings: RunSettings = {}) {
    const {
      threadId,
      attempt,
      lost,
      ahead = false,
      empty = false,
      written,
      metadata = {},
    } = settings;
    this.#shared = shared;
    this.threadId = threadId;
    this.attempt = attempt;
    this.#lost = lost;
    this.#ahead = ahead;
    this.#wasEmpty = empty;
    this.#empty = empty;
    this.#written = written;
    this.metadata = metadata;
  }

  /**
   * Returns true once, where the thread has no checkpoint. The run asks for the last one first, and is spared the
   * query.
   */
  isFirstLook(): boolean {
    const first = this.#empty;
    this.#empty = false;
    return first;
  }

  /** Returns true where the thread surely has no more checkpoints than that. */
  hasAtMost(checkpoints: number): boolean {
    return this.#wasEmpty && this.#checkpoints <= checkpoints;
  }

  /** Lets `work` make a step and add it; nothing happens once the run is over. */
  async runStep(work: () => Promise<void>): Promise<void> {
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
   * Settles when the step is stored. For a run that goes ahead it settles at once, unless a step could not be stored.
   */
  add(step: Step): Promise<void> {
    // A runner that knows of the empty thread does not look.
    this.#empty = false;
    this.#waiting.push(step);
    if ('put' in step) this.#checkpoints += 1;
    this.#sending ??= this.#send();
    if (!this.#ahead || this.#failed) return this.#sending;
    this.#sending.catch(() => (this.#failed = true));
    return Promise.resolve();
  }

  /** Settles when nothing is on its way any more, whether stored or not. */
  async waitUntilSettled(): Promise<void> {
    await Promise.allSettled([...this.#underWay, this.#sending]);
  }

  /**
   * Ends the run. It waits for the steps that LangGraph still writes for a stopped graph, drops later ones, and returns
   * the failure.
   */
  async close(): Promise<unknown> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
    return this.#sending?.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** Returns the steps that the next statement stores. The list stays the same until `taken`. */
  take(): Step[] {
    this.#sent ??= this.#waiting.splice(0, countUntilTwice(this.#waiting.slice(0, this.#cleared)));
    return this.#sent;
  }

  clearTaken(): void {
    this.#sent = undefined;
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Steps that come meanwhile may stand behind events that do not count as written yet.
      const cleared = this.#waiting.length;
      await this.#written?.();
      this.#cleared = this.#written === undefined ? Infinity : cleared;
      if (await this.#shared.add(this)) continue;
      this.#lost?.();
      throw new Conflict('Another worker has the run.');
    }
    this.#sending = undefined;
  }
}

/** Returns how many steps, from the first, share no row, because one statement can't write a row twice. */
function countUntilTwice(steps: Step[]): number {
  const seen = new Set<string>();
  const end = steps.findIndex((step) => {
    const rows = new Set(listRowKeys(step));
    const isTwice = [...rows].some((row) => seen.has(row));
    for (const row of rows) seen.add(row);
    return isTwice;
  });
  return end < 0 ? steps.length : end;
}

const listRowKeys = (step: Step): string[] =>
  'put' in step
    ? [step.put.key.join('/')]
    : step.writes.writes.map(({ index }) =>
        [...step.writes.key, step.writes.taskId, index].join('/'),
      );
