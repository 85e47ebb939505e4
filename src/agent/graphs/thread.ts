import { toError, Problem, StartError, Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { OwnCall } from '../../schema/wire/wall/exchange.ts';
import type { ThreadStart } from '../../schema/wire/wall/graph-start.ts';
import type { FromThread, GraphFailures, GraphNodes } from '../../schema/wire/wall/graphs.ts';
import type { JsonText } from '../../schema/wire/wall/json-text.ts';
import type { Answer, Args, Operation } from '../../schema/wire/wall/operations.ts';
import { checkProtocolVersion, WALL_VERSION } from '../../schema/wire/wall/rules.ts';
import type { AskedCall, CallRefusal } from '../../schema/wire/wall/admission.ts';
import type { ModelCall } from '../../schema/wire/wall/model-call.ts';
import type { Outcome, RunSpec, Span } from '../../schema/wire/wall/run-in-thread.ts';
import type { Exchanges } from '../exchange/exchanges.ts';
import { getCurrentContext } from '../kernel/encryption-context.ts';
import type { ThreadCalls } from '../exchange/thread-calls.ts';
import { answerAsked, type AnswersAsked } from './asked.ts';
import type { OpenRunner, Runner } from './worker.ts';

/**
 * How a graph thread ended under a run. `killed`: it was ended for this run's or another's sake, or crashed for the
 * first time where its runs go on together. `crashed`: it crashed, and sets its runs apart.
 */
export type ThreadLoss = 'killed' | 'crashed';

/** Receives the messages of a thread about the run that the thread was given. */
export type RunListener = {
  events(batch: [event: string, json: string][]): void;
  /** Settles when any reader that comes back can read the events so far; never fails. */
  written(): Promise<void>;
  /** Hears the graph's work so far, where runs are traced. */
  spans(spans: Span[]): void;
  /** Hears of the calls of models that have ended, where the run measures its usage. */
  usage(calls: ModelCall[]): void;
  /** Returns why a model may not be called, where the run is bounded. Throws where nobody knows. */
  admit(call: AskedCall): Promise<CallRefusal | undefined>;
  done(outcome: Outcome): void;
  /** Hears that the thread ended during the run; `killed` means that it ended for another run's sake. */
  gone(reason: ThreadLoss): void;
};

type ThreadOptions = {
  open: OpenRunner;
  heapMegabytes: number;
  alone: boolean;
  /** Says what a run hears when the thread crashes under it: that it crashed, unless it is another one's fault. */
  blame?: ((runId: string) => ThreadLoss) | undefined;
  calls: ThreadCalls;
  asked?: AnswersAsked;
  log: Log;
  line?: ((line: string) => void) | undefined;
};
type Loaded = { nodes: GraphNodes; failures: GraphFailures; noEvents: string | undefined };
/** Milliseconds without a sign of life after which a thread counts as stuck in a graph that never yields. */
const SILENT_AFTER = 1500;

/** One thread with the graphs loaded in it, as its host sees it: the server's side of the protocol. */
export class GraphThread {
  readonly ready: Promise<Loaded>;
  /** True for the thread of one run, which ends with it. */
  readonly alone: boolean;
  /** Settles when the thread is no more. */
  readonly gone: Promise<void>;
  readonly #runner: Runner;
  readonly #log: Log;
  readonly #line: ((line: string) => void) | undefined;
  readonly #asked: AnswersAsked;
  readonly #blame: (runId: string) => ThreadLoss;
  readonly #started = Promise.withResolvers<Loaded>();
  readonly #runs = new Map<string, RunListener>();
  readonly #calls = new Map<
    number,
    { resolve: (json: string) => void; reject: (error: Error) => void }
  >();
  readonly #exchanges: Exchanges<never, OwnCall>;
  #callId = 0;
  #heardAt = performance.now();
  #busyAt = performance.now();
  #loaded = false;
  #full = false;
  #killed = false;
  ended = false;

  constructor(
    start: ThreadStart,
    {
      open,
      heapMegabytes,
      alone,
      blame = () => 'crashed',
      calls,
      asked = {},
      log,
      line,
    }: ThreadOptions,
  ) {
    this.alone = alone;
    this.#log = log;
    this.#line = line;
    this.#asked = asked;
    this.#blame = blame;
    this.ready = this.#started.promise;
    // Callers that wait for the thread handle the failure. If nobody waits, it is logged when the thread ends.
    this.ready.catch(() => undefined);
    this.#exchanges = calls.connect((message) => this.#runner.send({ kind: 'exchange', message }));
    const gone = Promise.withResolvers<void>();
    this.gone = gone.promise;
    this.#runner = open(
      {
        message: (message) => this.#handleMessage(message),
        crashed: (error) => this.#log.error({ err: error }, 'graph thread crashed'),
        ended: () => {
          this.#started.reject(
            new StartError('The graph thread ended while it was loading the graphs.'),
          );
          this.#end();
          gone.resolve();
        },
      },
      { heapMegabytes },
    );
    this.#runner.send({ kind: 'start', version: WALL_VERSION, start });
  }

  get load(): number {
    return this.#runs.size;
  }

  /** True when the thread last reported that it has hardly any time or memory for more. */
  get full(): boolean {
    return this.#full;
  }

  get usable(): boolean {
    return this.#loaded && !this.ended && performance.now() - this.#heardAt < SILENT_AFTER;
  }

  /** Milliseconds since the last run or call ended; 0 while there is one, or while the thread loads. */
  get restingFor(): number {
    return this.#loaded && this.#runs.size === 0 && this.#calls.size === 0
      ? performance.now() - this.#busyAt
      : 0;
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  run(spec: RunSpec, listener: RunListener): void {
    this.#runs.set(spec.run_id, listener);
    this.#runner.send({ kind: 'run', spec });
  }

  /** `goesOn`: the run goes on elsewhere, so nobody is to hear of an end. */
  abort(runId: string, goesOn: boolean): void {
    this.#runner.send({ kind: 'abort', run_id: runId, goes_on: goesOn });
  }

  drain(runId: string): void {
    this.#runner.send({ kind: 'drain', run_id: runId });
  }

  handleMessage(runId: string): void {
    this.#runner.send({ kind: 'hear', run_id: runId });
  }

  /** Asks the thread. Throws a refusal as a `Problem` with the status that the thread gave it. */
  call<K extends Operation>(operation: K, args: Args<K>): Promise<JsonText<Answer<K>>> {
    this.#callId += 1;
    const call_id = this.#callId;
    return new Promise((resolve, reject) => {
      this.#calls.set(call_id, { resolve, reject });
      this.#runner.send<K>({
        kind: 'call',
        call_id,
        operation,
        args,
        context: getCurrentContext(),
      });
    });
  }

  async kill(): Promise<void> {
    this.#killed = true;
    await this.#runner.kill();
  }

  #handleMessage(message: FromThread): void {
    this.#heardAt = performance.now();
    switch (message.kind) {
      case 'beat':
        this.#full = message.full;
        return;
      case 'log':
        this.#line?.(message.line);
        return;
      case 'ready':
        this.#handleReady(message);
        return;
      case 'broken':
        this.#handleBroken(message.sentence);
        return;
      case 'exchange':
        this.#exchanges.handleMessage(message.message);
        return;
      case 'embed':
      case 'cipher':
        void answerAsked(message, this.#asked).then((answer) => this.#runner.send(answer));
        return;
      case 'result':
      case 'failed':
        this.#handleAnswer(message);
        return;
      default:
        this.#handleRunMessage(message);
    }
  }

  #handleReady({
    version,
    nodes,
    failures = {},
    noEvents,
  }: Extract<FromThread, { kind: 'ready' }>): void {
    const fault = checkProtocolVersion('The runner of the graphs', version);
    if (fault !== undefined) return this.#handleBroken(fault);
    this.#loaded = true;
    this.#busyAt = performance.now();
    this.#started.resolve({ nodes, failures, noEvents });
  }

  #handleBroken(sentence: string): void {
    this.#started.reject(new StartError(sentence));
    void this.kill();
  }

  #handleRunMessage(message: Extract<FromThread, { run_id: string }>): void {
    const listener = this.#runs.get(message.run_id);
    switch (message.kind) {
      case 'events':
        listener?.events(message.batch);
        return;
      case 'wait':
        void this.#answerWait(message.wait_id, listener);
        return;
      case 'spans':
        listener?.spans(message.spans);
        return;
      case 'usage':
        listener?.usage(message.calls);
        return;
      case 'admit':
        void this.#answerAdmit(message, listener);
        return;
      case 'done':
        this.#handleDone(message.run_id, message.outcome);
    }
  }

  async #answerWait(wait_id: number, listener: RunListener | undefined): Promise<void> {
    await listener?.written();
    this.#runner.send({ kind: 'written', wait_id });
  }

  async #answerAdmit(
    { ask_id, call }: Extract<FromThread, { kind: 'admit' }>,
    listener: RunListener | undefined,
  ): Promise<void> {
    try {
      if (listener === undefined) throw new Unavailable('The run is over.');
      const refusal = await listener.admit(call);
      this.#runner.send({ kind: 'admitted', ask_id, ...(refusal !== undefined && { refusal }) });
    } catch (thrown) {
      const status = thrown instanceof Problem ? thrown.status : 500;
      const { message } = toError(thrown);
      this.#runner.send({ kind: 'not_admitted', ask_id, status, message });
    }
  }

  #handleDone(runId: string, outcome: Outcome): void {
    const listener = this.#runs.get(runId);
    this.#runs.delete(runId);
    this.#busyAt = performance.now();
    listener?.done(outcome);
    if (this.alone) void this.kill();
  }

  #handleAnswer(message: Extract<FromThread, { call_id: number }>): void {
    const call = this.#calls.get(message.call_id);
    this.#calls.delete(message.call_id);
    this.#busyAt = performance.now();
    if (message.kind === 'result') call?.resolve(message.json);
    else call?.reject(new Problem(message.status, message.message));
  }

  #end(): void {
    this.ended = true;
    const runs = [...this.#runs];
    this.#runs.clear();
    for (const [runId, listener] of runs)
      listener.gone(this.#killed ? 'killed' : this.#blame(runId));
    for (const call of this.#calls.values())
      call.reject(new Unavailable('The graph thread that was to answer has ended; try again.'));
    this.#calls.clear();
    this.#exchanges.failAll(() => new Unavailable('The thread has ended.'));
  }
}
