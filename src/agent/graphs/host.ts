import { Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Operation, RunSpec, ThreadStart } from './protocol.ts';
import { GraphThread, type RunListener } from './thread.ts';

/** `keep`: threads that stay when there is nothing to do. */
type HostOptions = { start: ThreadStart; threads: number; slots: number; keep: number; log: Log };

/** Milliseconds that a question about a graph may take. */
const CALL_WITHIN = 60_000;

/** Milliseconds without a run or a question after which a thread ends: it holds 70 MB, and is back within a second. */
const REST = 60_000;
const LOOK_EVERY = 5000;

/**
 * Keeps the threads that graphs run in: another is started when every one is stuck or has its share of runs, and those beyond `keep` end when
 * they have had nothing to do for a while. Spreading runs evenly would cost each pod the memory of all threads at its first two runs.
 */
export class GraphHost {
  readonly #options: HostOptions;
  readonly #share: number;
  #threads: GraphThread[] = [];
  #closed = false;
  readonly #timer: NodeJS.Timeout;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#endResting(), LOOK_EVERY).unref();
    this.#share = Math.max(1, Math.ceil(options.slots / options.threads));
  }

  /** Loads the graphs once; what is wrong with them is a `StartError`. */
  async open(): Promise<void> {
    await this.#add().ready;
  }

  async run(spec: RunSpec, listener: RunListener): Promise<void> {
    const thread = await this.#pick();
    thread.run(spec, listener);
  }

  abort(runId: string): void {
    this.#of(runId)?.abort(runId);
  }

  /** Ends the thread that the run is stuck in. */
  async kill(runId: string): Promise<void> {
    const thread = this.#of(runId);
    if (thread === undefined) return;
    this.#options.log.warn({ run_id: runId, runs: thread.load }, 'thread of a graph that does not yield is ended');
    await thread.kill();
  }

  /** Asks about a graph or its state; the answer is JSON text. */
  async call(operation: Operation, args: unknown): Promise<string> {
    const thread = await this.#pick();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Unavailable('The graph does not answer.')), CALL_WITHIN);
    });
    try {
      return await Promise.race([thread.call(operation, args), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await Promise.all(this.#threads.map((thread) => thread.kill()));
  }

  #endResting(): void {
    const resting = this.#threads.filter((thread) => thread.restingFor > REST);
    for (const thread of resting.slice(0, Math.max(0, this.#threads.length - this.#options.keep))) {
      // Nothing more is given to it from here on.
      this.#threads = this.#threads.filter((other) => other !== thread);
      void thread.kill();
    }
  }

  #of(runId: string): GraphThread | undefined {
    return this.#threads.find((thread) => thread.has(runId));
  }

  async #pick(): Promise<GraphThread> {
    this.#threads = this.#threads.filter((thread) => !thread.ended);
    const [best] = this.#threads.filter((thread) => thread.usable).toSorted((a, b) => a.load - b.load);
    const room = this.#threads.length < this.#options.threads;
    if (best !== undefined) {
      if (best.load >= this.#share && room) this.#add();
      return best;
    }
    const loading = room ? this.#add() : this.#threads.at(-1)!;
    await loading.ready;
    return loading;
  }

  #add(): GraphThread {
    if (this.#closed) throw new Unavailable('The server is stopping.');
    const thread = new GraphThread(this.#options.start, this.#options.log);
    this.#threads.push(thread);
    return thread;
  }
}
