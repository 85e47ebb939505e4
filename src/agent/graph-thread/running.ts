import type { GraphStore } from './store.ts';
import type { Saver } from './checkpoints/saver.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FromThread, ToThread } from '../../schema/wire/wall/graphs.ts';
import type { Outcome, RunSpec } from '../../schema/wire/wall/run-in-thread.ts';
import { runUnderContext } from '../kernel/encryption-context.ts';
import { describeThrown } from '../kernel/failure-place.ts';
import type { DuringRun } from './graph-log.ts';
import { invoke } from './invoke.ts';
import type { MakeGraph } from './load.ts';
import type { AskedCall, CallRefusal } from '../../schema/wire/wall/admission.ts';
import { OpenQuestions } from '../kernel/open-questions.ts';
import { Admissions } from './admissions.ts';
import { ModelCalls } from './model-calls.ts';
import type { TracePassing } from './passed-trace.ts';
import { createGraphSpans } from './spans.ts';
import { StopOfRun } from './stop-of-run.ts';
import { Starts } from './starts.ts';

type Deps = {
  graphOf: (graphId: string) => MakeGraph;
  spanContents?: boolean | undefined;
  tell: (message: FromThread) => void;
  duringRun: DuringRun;
  passing: TracePassing;
  saver: Saver;
  store: GraphStore;
};

/** A call that a run is about to make. */
type AskedOfRun = { run_id: string; call: AskedCall };

/** The status of a refusal after which the same may succeed. */
const UNAVAILABLE = 503;

/** The runs under way in this thread. */
export class Running {
  readonly #deps: Deps;
  readonly #stops = new Map<string, StopOfRun>();
  readonly #starts = new Starts();
  readonly #unheard = new Set<string>();
  readonly #waiting = new Map<number, () => void>();
  readonly #asked: OpenQuestions<AskedOfRun, CallRefusal | undefined>;
  #lastWait = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#asked = new OpenQuestions((ask_id, asked) =>
      deps.tell({ kind: 'admit', ask_id, ...asked }),
    );
  }

  /** Carries out a run, and sends all that comes of it. Never fails. */
  async run(spec: RunSpec): Promise<void> {
    const { tell, spanContents, graphOf, duringRun, passing } = this.#deps;
    const { run_id } = spec;
    const stop = new StopOfRun();
    this.#stops.set(run_id, stop);
    if (spec.unheard) this.#unheard.add(run_id);
    const { emit, flush } = this.#createBatcher(run_id, stop);
    const waitUntilWritten = async (): Promise<void> => {
      // Events that the graph has emitted are still on their way through its stream.
      await nextTurn();
      flush();
      await this.#waitUntilWritten(run_id);
    };
    const tracing =
      spec.trace &&
      createGraphSpans(spec.trace, {
        contents: spanContents,
        send: (spans) => tell({ kind: 'spans', run_id, spans }),
      });
    const calls =
      spec.measures_usage === true
        ? new ModelCalls((some) => tell({ kind: 'usage', run_id, calls: some }))
        : undefined;
    const admissions = spec.bounded === true ? this.#createAdmissions(run_id, calls) : undefined;
    const parts = [tracing?.handler, calls?.createHandler(), admissions?.createHandler()];
    const handlers = parts.filter((handler) => handler !== undefined);
    const make = graphOf(spec.graph_id);
    const isHeard = (): boolean => !this.#unheard.has(run_id);
    const invoked = {
      ...this.#deps,
      make,
      emit,
      heard: isHeard,
      written: waitUntilWritten,
      handlers,
      admissions,
      stop,
    };
    const passed = { headers: spec.passed_on, spanOf: tracing?.spanOf };
    const runGraph = (): Promise<Outcome> =>
      duringRun(spec, () => passing.during(passed, () => invoke(spec, invoked)));
    await this.#starts.waitForTurn();
    const outcome = await runUnderContext(spec.kwargs.encryption_context, runGraph).catch(
      // The result can't be serialised (it has cycles, or its parts throw when they are read): the graph's own failure.
      (thrown: unknown): Outcome => ({
        status: 'error',
        waiting: false,
        error: describeThrown(thrown),
      }),
    );
    admissions?.close();
    tracing?.close();
    this.#stops.delete(run_id);
    this.#unheard.delete(run_id);
    flush();
    calls?.close();
    tell({ kind: 'done', run_id, outcome });
  }

  abort(runId: string, goesOn: boolean): void {
    this.#stops.get(runId)?.abort(goesOn);
  }

  drain(runId: string): void {
    this.#stops.get(runId)?.drain();
  }

  /** From now on, the run's events are read. */
  startEvents(runId: string): void {
    this.#unheard.delete(runId);
  }

  /** Hears from the server that the events of a run are where others find them. */
  waitUntilWritten(waitId: number): void {
    this.#waiting.get(waitId)?.();
    this.#waiting.delete(waitId);
  }

  /** Hears from the server whether a model may be called. */
  handleAdmission(message: Extract<ToThread, { kind: 'admitted' | 'not_admitted' }>): void {
    if (message.kind === 'admitted') this.#asked.resolve(message.ask_id, message.refusal);
    else
      this.#asked.reject(message.ask_id, {
        ...message,
        passes: message.status === UNAVAILABLE,
      });
  }

  #createAdmissions(run_id: string, calls: ModelCalls | undefined): Admissions {
    return new Admissions({
      ask: (call) => {
        // The server is to know the calls before first.
        calls?.flush();
        return this.#asked.ask({ run_id, call });
      },
      refused: (id) => calls?.drop(id),
    });
  }

  #waitUntilWritten(run_id: string): Promise<void> {
    this.#lastWait += 1;
    const wait_id = this.#lastWait;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(wait_id, resolve);
    this.#deps.tell({ kind: 'wait', wait_id, run_id });
    return promise;
  }

  /**
   * Collects the events that are emitted in one turn of the event loop, so that a burst of events crosses in one
   * message. A run that another attempt has says nothing more.
   */
  #createBatcher(
    run_id: string,
    stop: StopOfRun,
  ): { emit: (event: string, json: string) => void; flush: () => void } {
    let batch: [event: string, json: string][] = [];
    let scheduled: NodeJS.Immediate | undefined;
    const flush = (): void => {
      clearImmediate(scheduled);
      scheduled = undefined;
      if (batch.length > 0 && !stop.isLost) this.#deps.tell({ kind: 'events', run_id, batch });
      batch = [];
    };
    const emit = (event: string, json: string): void => {
      batch.push([event, json]);
      scheduled ??= setImmediate(flush);
    };
    return { emit, flush };
  }
}
