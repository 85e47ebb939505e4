import { setTimeout as wait } from 'node:timers/promises';
import { Problem, Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { ThreadStart } from '../../schema/wire/wall/graph-start.ts';
import type { GraphFailures, GraphNodes } from '../../schema/wire/wall/graphs.ts';
import type { JsonText } from '../../schema/wire/wall/json-text.ts';
import type { Answer, Args, Operation } from '../../schema/wire/wall/operations.ts';
import type { RunSpec } from '../../schema/wire/wall/run-in-thread.ts';
import { ThreadCalls, type AnswerCall } from '../exchange/thread-calls.ts';
import { runFields, type RunInLog } from '../kernel/run-fields.ts';
import type { AnswersAsked } from './asked.ts';
import { GraphThread, type RunListener, type ThreadLoss } from './thread.ts';
import { openWorker, type OpenRunner } from './worker.ts';

export type HostSettings = {
  start: ThreadStart;
  /** The most threads that runs share. */
  threads: number;
  /** Threads that stay when there is nothing to do. */
  keep: number;
  heapMegabytes: number;
  /**
   * Runs of a thread that crashes go on together at first, and each in a thread of its own from the second time on.
   * So they need not wait for one another where a thread takes seconds to start. Else the first crash sets them apart.
   */
  togetherOnce?: boolean;
  log: Log;
  /** Hears the lines of the threads' logs, where they send them. */
  line?: ((line: string) => void) | undefined;
  /** The parts in another language, for which threads ask. */
  asked?: AnswersAsked;
  /** The place where a thread runs: a worker of this process unless another is given. */
  open?: OpenRunner;
};

/** Runs that have seen a crash; the oldest is forgotten beyond so many. */
const MOST_SUSPECTS = 1000;

/** Milliseconds between two tries to bring a thread up. */
const RETRY = 1000;

/** Milliseconds that a call may take. */
const CALL_WITHIN = 60_000;

/** Milliseconds without a run or a call after which a thread ends: it holds 70 MB, and is back within a second. */
const REST = 60_000;
const LOOK_EVERY = 5000;

/** 400: runs of the graph can't publish protocol events. No other request for them would succeed. */
export class EventsNotServed extends Problem {
  override name = 'EventsNotServed';
  constructor(message: string) {
    super(400, message);
  }
}

/**
 * Keeps the threads that graphs of one language run in. It starts another when every one is stuck or full, and those
 * beyond `keep` end when they have had nothing to do for a while. Runs in one thread share statements and warm code:
 * over two threads, each run costs a quarter more CPU, and the pod takes 70 MB more.
 */
export class LanguageHost {
  readonly #options: HostSettings & { open: OpenRunner };
  #threads: GraphThread[] = [];
  #closed = false;
  readonly #calls: ThreadCalls;
  readonly #timer: NodeJS.Timeout;
  #opened = false;
  #failed = false;
  #nodes: GraphNodes = {};
  #failures: GraphFailures = {};
  #noEvents: string | undefined;
  /** Runs that were in a thread when it crashed. */
  readonly #suspects = new Set<string>();
  /** Settles when the thread of the last lone run is gone; a run that waits for it can be called off. */
  #lone: Promise<void> = Promise.resolve();
  readonly #waiting = new Map<string, () => void>();

  constructor(settings: HostSettings) {
    this.#options = { open: openWorker, ...settings };
    this.#calls = new ThreadCalls(settings.log);
    this.#timer = setInterval(() => this.#endResting(), LOOK_EVERY).unref();
  }

  /**
   * Loads the graphs for the first time, and returns those that a partial thread can't load. Throws a `StartError` that
   * says what is wrong with them.
   */
  async open(): Promise<GraphFailures> {
    const { nodes, failures, noEvents } = await this.#add().ready;
    this.#nodes = nodes;
    this.#failures = failures;
    this.#noEvents = noEvents;
    this.#opened = true;
    return failures;
  }

  /**
   * Returns the names of a graph's nodes, as they were loaded; undefined where each call may make others. Throws a
   * `Problem` with status 500 when the graph could not be loaded.
   */
  listNodes(graphId: string): string[] | undefined {
    const failure = Object.hasOwn(this.#failures, graphId) ? this.#failures[graphId] : undefined;
    if (failure !== undefined) throw new Problem(500, failure);
    return Object.hasOwn(this.#nodes, graphId) ? (this.#nodes[graphId] ?? undefined) : undefined;
  }

  /** Throws `EventsNotServed` where runs of the graph can't publish protocol events. */
  permitEvents(_graphId: string): void {
    if (this.#noEvents !== undefined) throw new EventsNotServed(this.#noEvents);
  }

  /**
   * False when the graphs can no longer be loaded, so that nothing could run here. A busy or stuck graph does not
   * count.
   */
  get well(): boolean {
    return !this.#failed;
  }

  async run(spec: RunSpec, listener: RunListener): Promise<void> {
    const thread = spec.alone ? await this.#openLoneThread(spec.run_id) : await this.#pick();
    thread.run(spec, listener);
  }

  /** Has the run stop as soon as it can. `goesOn`: it goes on elsewhere, so nobody is to hear of an end. */
  abort(runId: string, { goesOn }: { goesOn: boolean }): void {
    this.#findThread(runId)?.abort(runId, goesOn);
  }

  drain(runId: string): void {
    this.#findThread(runId)?.drain(runId);
  }

  startEvents(runId: string): void {
    this.#findThread(runId)?.handleMessage(runId);
  }

  /** Ends the thread that the run is stuck in, and with it every other run there. */
  async kill(run: RunInLog): Promise<void> {
    this.#waiting.get(run.run_id)?.();
    const thread = this.#findThread(run.run_id);
    if (thread === undefined) return;
    this.#options.log.warn(
      { ...runFields(run), runs: thread.load },
      'ending the thread of a graph that does not yield',
    );
    await thread.kill();
  }

  /**
   * Asks a graph thread. Throws the thread's refusal as a `Problem` with its status, and `Unavailable` when it does not
   * answer in time.
   */
  async call<K extends Operation>(operation: K, args: Args<K>): Promise<JsonText<Answer<K>>> {
    const thread = await this.#pick();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Unavailable('The graph does not answer.'));
        this.#endHeld(thread);
      }, CALL_WITHIN);
    });
    try {
      return await Promise.race([thread.call(operation, args), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends a thread that a call holds, which no other work would ever free. One with runs ends by their time limits. */
  #endHeld(thread: GraphThread): void {
    if (thread.usable || thread.load > 0 || thread.ended) return;
    this.#options.log.warn('ending the thread of graphs that a call holds');
    void thread.kill();
  }

  serve(answer: AnswerCall): void {
    this.#calls.serve(answer);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await Promise.all(this.#threads.map((thread) => thread.kill()));
  }

  #endResting(): void {
    const shared = this.#threads.filter((thread) => !thread.alone);
    const resting = shared.filter((thread) => thread.restingFor > REST);
    for (const thread of resting.slice(0, Math.max(0, shared.length - this.#options.keep))) {
      // The thread is given nothing more from here on.
      this.#threads = this.#threads.filter((other) => other !== thread);
      void thread.kill();
    }
  }

  #findThread(runId: string): GraphThread | undefined {
    return this.#threads.find((thread) => thread.has(runId));
  }

  async #pick(): Promise<GraphThread> {
    this.#threads = this.#threads.filter((thread) => !thread.ended);
    const shared = this.#threads.filter((thread) => !thread.alone);
    const usable = shared.filter((thread) => thread.usable);
    const best =
      usable.find((thread) => !thread.full) ?? usable.toSorted((a, b) => a.load - b.load)[0];
    const room = shared.length < this.#options.threads;
    if (best !== undefined) {
      if (best.full && room) this.#add();
      return best;
    }
    const loading = room ? this.#add() : shared.at(-1)!;
    await loading.ready;
    return loading;
  }

  /**
   * Opens a thread for one run, beyond the shared ones. Such threads open one at a time, so that they can't fill the
   * memory.
   */
  async #openLoneThread(runId: string): Promise<GraphThread> {
    const turn = this.#lone;
    const mine = Promise.withResolvers<void>();
    this.#lone = turn.then(() => mine.promise);
    const stopped = Promise.withResolvers<never>();
    this.#waiting.set(runId, () =>
      stopped.reject(new Unavailable('The run was stopped before its turn.')),
    );
    try {
      await Promise.race([turn, stopped.promise]);
      const thread = this.#add(true);
      void thread.gone.then(mine.resolve);
      await thread.ready;
      return thread;
    } catch (error) {
      mine.resolve();
      throw error;
    } finally {
      this.#waiting.delete(runId);
    }
  }

  #add(alone = false): GraphThread {
    if (this.#closed) throw new Unavailable('The server is stopping.');
    const blame =
      this.#options.togetherOnce === true && !alone
        ? (runId: string) => this.#recordCrash(runId)
        : undefined;
    const thread = new GraphThread(this.#options.start, {
      ...this.#options,
      calls: this.#calls,
      alone,
      blame,
    });
    this.#threads.push(thread);
    thread.ready.then(
      () => (this.#failed = false),
      () => (this.#failed = true),
    );
    void thread.gone.then(() => this.#replace());
    return thread;
  }

  /** Suspects a run that sees its first crash here, and blames it for the second one. */
  #recordCrash(runId: string): ThreadLoss {
    if (this.#suspects.delete(runId)) return 'crashed';
    this.#suspects.add(runId);
    const [oldest] = this.#suspects;
    if (this.#suspects.size > MOST_SUSPECTS && oldest !== undefined) this.#suspects.delete(oldest);
    return 'killed';
  }

  /** Replaces the last thread that ended: at once, and then once a second while that fails. */
  async #replace(): Promise<void> {
    if (this.#failed) await wait(RETRY);
    if (this.#closed || !this.#opened || (this.#options.keep === 0 && !this.#failed)) return;
    if (this.#threads.some((thread) => !thread.ended && !thread.alone)) return;
    this.#options.log.warn('all threads of the graphs ended; another is started');
    this.#add();
  }
}
