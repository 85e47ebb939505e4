import { Worker } from 'node:worker_threads';
import { asError, Problem, StartError, Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Span } from '../tracing/span.ts';
import type { FromThread, GraphNodes, Operation, Outcome, RunSpec, ThreadStart, ToThread } from './protocol.ts';

/** What the one who gave a run hears of it. */
export type RunListener = {
  events(batch: [event: string, json: string][]): void;
  /** Settles when the events so far can be read by whoever comes back; never fails. */
  written(): Promise<void>;
  /** What the graph did so far, where runs are traced. */
  spans(spans: Span[]): void;
  done(outcome: Outcome): void;
  /** The thread ended under it; `killed` when that was for another run's sake. */
  gone(reason: 'killed' | 'crashed'): void;
};

type PendingCall = { resolve: (json: string) => void; reject: (error: Error) => void };

/** Milliseconds without a sign of life after which a thread counts as stuck in a graph that never yields. */
const SILENT_AFTER = 1500;

/** Node's own is 48: with 12 a thread takes 45 MB less, at the same CPU time a run (docs/decisions/0001-worker-threads.md). */
const YOUNG_MEGABYTES = 12;

/** One worker thread with the graphs loaded in it. */
export class GraphThread {
  readonly ready: Promise<GraphNodes>;
  /** True for the thread of one run, which ends with it. */
  readonly alone: boolean;
  /** Settles when the thread is no more. */
  readonly gone: Promise<void>;
  readonly #worker: Worker;
  readonly #log: Log;
  readonly #runs = new Map<string, RunListener>();
  readonly #calls = new Map<number, PendingCall>();
  #callId = 0;
  #heardAt = performance.now();
  #busyAt = performance.now();
  #loaded = false;
  #full = false;
  #killed = false;
  ended = false;

  constructor(start: ThreadStart, { heapMegabytes, alone, log }: { heapMegabytes: number; alone: boolean; log: Log }) {
    this.alone = alone;
    this.#log = log;
    this.#worker = new Worker(new URL('../graph-thread/main.ts', import.meta.url), {
      workerData: start,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES, maxOldGenerationSizeMb: heapMegabytes },
    });
    this.ready = new Promise((resolve, reject) => {
      this.#worker.on('message', (message: FromThread) => this.#hear(message, { resolve, reject }));
      this.#worker.on('error', (error) => this.#log.error({ err: asError(error) }, 'graph thread crashed'));
      this.#worker.once('exit', () => {
        reject(new StartError('The thread of the graphs ended while it was loading them.'));
        this.#end();
      });
    });
    this.gone = new Promise((resolve) => {
      this.#worker.once('exit', () => resolve());
    });
    // Whoever waits for the thread handles the failure; one that nobody waits for is told in the log by `exit`.
    this.ready.catch(() => undefined);
  }

  get load(): number {
    return this.#runs.size;
  }

  /** True when it has hardly a moment, or little memory, for more; as it said last. */
  get full(): boolean {
    return this.#full;
  }

  get usable(): boolean {
    return this.#loaded && !this.ended && performance.now() - this.#heardAt < SILENT_AFTER;
  }

  /** Milliseconds since its last run or question ended; 0 while it has any, or loads. */
  get restingFor(): number {
    return this.#loaded && this.#runs.size === 0 && this.#calls.size === 0 ? performance.now() - this.#busyAt : 0;
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  run(spec: RunSpec, listener: RunListener): void {
    this.#runs.set(spec.run_id, listener);
    this.#tell({ kind: 'run', spec });
  }

  abort(runId: string): void {
    this.#tell({ kind: 'abort', run_id: runId });
  }

  /** The answer as JSON text. */
  call(operation: Operation, args: unknown): Promise<string> {
    this.#callId += 1;
    const call_id = this.#callId;
    return new Promise((resolve, reject) => {
      this.#calls.set(call_id, { resolve, reject });
      this.#tell({ kind: 'call', call_id, operation, args });
    });
  }

  async kill(): Promise<void> {
    this.#killed = true;
    await this.#worker.terminate();
  }

  #tell(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
    this.#worker.postMessage(message);
  }

  #hear(message: FromThread, start: { resolve: (nodes: GraphNodes) => void; reject: (error: Error) => void }): void {
    this.#heardAt = performance.now();
    switch (message.kind) {
      case 'beat':
        this.#full = message.full;
        return;
      case 'ready':
        this.#loaded = true;
        this.#busyAt = performance.now();
        start.resolve(message.nodes);
        return;
      case 'broken':
        start.reject(new StartError(message.sentence));
        return;
      case 'events':
        this.#runs.get(message.run_id)?.events(message.batch);
        return;
      case 'wait':
        void this.#written(message.run_id).then(() => this.#tell({ kind: 'written', wait_id: message.wait_id }));
        return;
      case 'spans':
        this.#runs.get(message.run_id)?.spans(message.spans);
        return;
      case 'done':
        this.#done(message.run_id, message.outcome);
        return;
      default:
        this.#answer(message);
    }
  }

  async #written(runId: string): Promise<void> {
    await this.#runs.get(runId)?.written();
  }

  #done(runId: string, outcome: Outcome): void {
    const listener = this.#runs.get(runId);
    this.#runs.delete(runId);
    this.#busyAt = performance.now();
    listener?.done(outcome);
    if (this.alone) void this.kill();
  }

  #answer(message: Extract<FromThread, { call_id: number }>): void {
    const call = this.#calls.get(message.call_id);
    this.#calls.delete(message.call_id);
    this.#busyAt = performance.now();
    if (message.kind === 'result') call?.resolve(message.json);
    else call?.reject(new Problem(message.status, message.message));
  }

  #end(): void {
    this.ended = true;
    const runs = [...this.#runs.values()];
    this.#runs.clear();
    for (const listener of runs) listener.gone(this.#killed ? 'killed' : 'crashed');
    for (const call of this.#calls.values()) call.reject(new Unavailable('The thread that was to answer ended; try again.'));
    this.#calls.clear();
  }
}
