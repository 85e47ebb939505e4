import type { Graph } from './load.ts';

/** The name of the error that LangGraph throws between two steps. The user's graph brings its own class of it. */
const DRAINED = 'GraphDrained';

/**
 * The object that LangGraph's loop looks at between two steps: its `RunControl`, which versions before 1.7 do not have.
 */
type Control = { readonly drainRequested: boolean; readonly drainReason: string | undefined };
/** The stop of a run under way, as the run sees it. */
export class StopOfRun {
  readonly #aborting = new AbortController();
  #isToDrain = false;
  #goesOn = false;
  #isLost = false;

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  /** True when the run goes on elsewhere, so that nobody is to hear of an end. */
  get goesOn(): boolean {
    return this.#goesOn || this.#isLost;
  }

  /** True when another attempt has the run, so that this one is to write nothing. */
  get isLost(): boolean {
    return this.#isLost;
  }

  abort(goesOn: boolean): void {
    this.#goesOn = goesOn;
    this.#aborting.abort(new Error('the run was stopped'));
  }

  drain(): void {
    this.#isToDrain = true;
  }

  abortLost(): void {
    this.#isLost = true;
    this.#aborting.abort(new Error('another worker has the run'));
  }

  /** Returns whether the graph stopped because `drain` asked for that. One that has asked itself has failed. */
  isDrainedBy(thrown: unknown): boolean {
    return (
      this.#isToDrain &&
      !this.signal.aborted &&
      (Object(thrown) as { name?: unknown }).name === DRAINED
    );
  }

  /**
   * Returns the graph so that it stops where `drain` asks for it. The config of a call has `control` for the same, but
   * hands it down to graphs within nodes. Tools beside such a graph would then be called twice, and the package
   * `langchain` would take the stop for the answer of a tool. A graph without such a loop runs on.
   */
  wrapDrainable(graph: Graph): Graph {
    const { _runLoop: run } = graph as {
      _runLoop?: (params: { loop: { control?: Control | undefined } }) => Promise<void>;
    };
    if (typeof run !== 'function') return graph;
    const runLoop: typeof run = (params) => {
      params.loop.control = this.#mergeControl(params.loop.control);
      return run.call(graph, params);
    };
    return Object.create(graph, { _runLoop: { value: runLoop } }) as Graph;
  }

  /** `own` is the control that nodes may ask for a stop, too. */
  #mergeControl(own: Control | undefined): Control {
    const isToDrain = (): boolean => this.#isToDrain;
    return {
      get drainRequested() {
        return isToDrain() || own?.drainRequested === true;
      },
      get drainReason() {
        return isToDrain() ? 'the server stops' : own?.drainReason;
      },
    };
  }
}
