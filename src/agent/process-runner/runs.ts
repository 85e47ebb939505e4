import { Unavailable } from '../../errors.ts';
import type { FromThread } from '../../schema/wire/wall/graphs.ts';
import type { Outcome, RunSpec } from '../../schema/wire/wall/run-in-thread.ts';
import type { ToRunner } from '../../schema/wire/wall/runner.ts';
import { runUnderContext } from '../kernel/encryption-context.ts';
import { readVersions } from '../kernel/versions.ts';
import type { ListElement } from '../run-storage/lists.ts';
import type { StepStorage } from '../run-storage/step-storage.ts';

type Deps = {
  steps: StepStorage<ListElement>;
  send: (message: ToRunner) => void;
  tell: (message: FromThread) => void;
};

/** `tail` settles when all steps so far are on their way; `failure` is that of the first which could not be stored. */
type RunHere = {
  threadId: string;
  done: PromiseWithResolvers<Outcome>;
  tail: Promise<unknown>;
  isLost: boolean;
};

const { version } = readVersions();

/** Returns the run with the version of this server in its metadata, which the runner does not know. */
function addVersion(spec: RunSpec): RunSpec {
  const { config } = spec.kwargs;
  const metadata = {
    ...(config['metadata'] as object | undefined),
    langgraph_api_version: version,
  };
  return { ...spec, kwargs: { ...spec.kwargs, config: { ...config, metadata } } };
}

/** The runs under way in a runner, as the thread that stores for it sees them. */
export class RunsOfRunner {
  readonly #deps: Deps;
  readonly #runs = new Map<string, RunHere>();
  readonly #waiting = new Map<number, () => void>();
  readonly #ending = new Set<Promise<void>>();
  #lastWait = 0;
  #isOver = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Gives the run to the runner, and says its end once all of its steps are stored. Never fails. */
  begin(spec: RunSpec): void {
    const ending = runUnderContext(spec.kwargs.encryption_context, () => this.#executeRun(spec));
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
  }

  async #executeRun(spec: RunSpec): Promise<void> {
    const { run_id, thread_id: threadId, kwargs } = spec;
    const run: RunHere = {
      threadId,
      done: Promise.withResolvers<Outcome>(),
      tail: Promise.resolve(),
      isLost: false,
    };
    this.#runs.set(run_id, run);
    const abortLost = (): void => {
      run.isLost = true;
      this.#deps.send({ kind: 'abort', run_id, goes_on: true });
    };
    const storing = {
      ahead: kwargs.durability !== 'sync',
      written: kwargs.resumable ? () => this.#waitUntilWritten(run_id) : undefined,
      metadata: kwargs.config['metadata'] as object | undefined,
      lost: abortLost,
    };
    const outcome = await this.#deps.steps
      .runStoring(spec, storing, () => {
        this.#deps.send({ kind: 'run', spec: addVersion(spec) });
        return run.done.promise;
      })
      .catch((error: unknown) => buildFailedOutcome(error, run.isLost));
    if (this.#runs.get(run_id) === run) this.#runs.delete(run_id);
    if (!this.#isOver) this.#deps.tell({ kind: 'done', run_id, outcome });
  }

  handleDone(runId: string, outcome: Outcome): void {
    const run = this.#runs.get(runId);
    void run?.tail.then(() => run.done.resolve(outcome));
  }

  /** True for a run of which nothing more is to be heard. */
  isLost(runId: string): boolean {
    return this.#runs.get(runId)?.isLost === true;
  }

  /** Stores one step of a run behind the others. A run whose step can't be stored has to stop. */
  async storeInOrder(runId: string | null, store: () => Promise<void>): Promise<void> {
    const run = runId === null ? undefined : this.#runs.get(runId);
    if (run === undefined) return store();
    const storing = run.tail.then(store);
    run.tail = storing.catch(() =>
      this.#deps.send({ kind: 'abort', run_id: runId!, goes_on: true }),
    );
    return storing;
  }

  /** Settles when all steps that the thread's runs have sent so far are on their way. Never fails. */
  async waitForSteps(threadId: string): Promise<void> {
    await Promise.all(
      [...this.#runs.values()].filter((run) => run.threadId === threadId).map((run) => run.tail),
    );
  }

  waitUntilWritten(waitId: number): void {
    this.#waiting.get(waitId)?.();
    this.#waiting.delete(waitId);
  }

  #waitUntilWritten(run_id: string): Promise<void> {
    this.#lastWait += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(this.#lastWait, resolve);
    this.#deps.tell({ kind: 'wait', wait_id: this.#lastWait, run_id });
    return promise;
  }

  /** The runner is gone. Settles when all that it has put is stored; the runs go on elsewhere. */
  async end(): Promise<void> {
    this.#isOver = true;
    for (const run of this.#runs.values())
      void run.tail.then(() => run.done.reject(new Unavailable('The runner has ended.')));
    await Promise.all(this.#ending);
  }
}

function buildFailedOutcome(error: unknown, isLost: boolean): Outcome {
  if (isLost) return { status: 'interrupted', waiting: false, lost: true };
  if (error instanceof Unavailable) return { status: 'interrupted', waiting: false, retry: true };
  const { name, message } = error as Error;
  return { status: 'error', waiting: false, error: { error: name, message } };
}
