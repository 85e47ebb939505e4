import { setTimeout as wait } from 'node:timers/promises';
import { Problem, StartError, Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { FromUserCode, HandlerQuestion, Questions, UserCodeStart } from './protocol.ts';
import { openUserCode, type UserCodeWorker } from './worker.ts';

type HostOptions = {
  start: Omit<UserCodeStart, 'running'>;
  /** Milliseconds that a handler may take to answer. */
  within: number;
  log: Log;
};

type Answer = Questions[keyof Questions]['answer'];
type Waiting = {
  question: HandlerQuestion;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
  /** How many threads were asked. */
  threads: number;
  askedAt: number;
};

/** Milliseconds without an answer after which a handler that holds the thread counts as one that never yields. */
const STUCK = 2000;
const LOOK_EVERY = 500;
/** Milliseconds between two tries to bring the thread up. */
const RETRY = 1000;
/** A question is asked again when its thread ended over another one, but not for ever: it may be the reason. */
const MOST_THREADS = 2;

/**
 * Keeps the thread of the user's own code. A handler that never yields loses the thread; the questions of others are
 * asked again in the next one.
 */
export class UserCode {
  readonly #options: HostOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #look: NodeJS.Timeout;
  #worker: UserCodeWorker | undefined;
  #running = new Int32Array(new SharedArrayBuffer(4));
  #held = { call: 0, since: 0 };
  #callId = 0;
  #heardAt = 0;
  #ready = false;
  #closed = false;
  #started = Promise.withResolvers<void>();
  #handles: ReadonlySet<string> = new Set();

  constructor(options: HostOptions) {
    this.#options = options;
    this.#look = setInterval(() => this.#endStuck(), LOOK_EVERY).unref();
  }

  /** Loads the user's code. Throws a `StartError` that says what is wrong with it. */
  async open(): Promise<void> {
    this.#open();
    await this.#started.promise;
  }

  /** The names that the code registered handlers under. */
  get handles(): ReadonlySet<string> {
    return this.#handles;
  }

  /**
   * Asks a handler. Throws its refusal as a `Problem` with its status and headers, and `Unavailable` when it does not
   * answer in time or the thread ended over it.
   */
  ask<K extends keyof Questions>(ask: K, args: Questions[K]['args']): Promise<Questions[K]['answer']> {
    this.#callId = (this.#callId % 0x7f_ff_ff_ff) + 1;
    const call_id = this.#callId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#endLate(call_id), this.#options.within);
      const waiting: Waiting = {
        question: { ask, ...args } as HandlerQuestion,
        resolve,
        reject,
        timer,
        threads: 0,
        askedAt: 0,
      };
      this.#waiting.set(call_id, waiting);
      this.#send(call_id, waiting);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#look);
    await this.#worker?.kill();
  }

  #open(): void {
    this.#running = new Int32Array(new SharedArrayBuffer(4));
    this.#worker = openUserCode({
      message: (message) => this.#hear(message),
      crashed: (error) => this.#options.log.error({ err: error }, "the thread of the user's own code crashed"),
      ended: () => void this.#replace(),
    });
    this.#worker.send({ kind: 'start', start: { ...this.#options.start, running: this.#running } });
  }

  #send(call_id: number, waiting: Waiting): void {
    // What is asked before the thread is ready is asked when it is.
    if (!this.#ready) return;
    waiting.threads += 1;
    waiting.askedAt = performance.now();
    this.#worker!.send({ kind: 'question', call_id, question: waiting.question });
  }

  #hear(message: FromUserCode): void {
    this.#heardAt = performance.now();
    switch (message.kind) {
      case 'ready':
        this.#ready = true;
        this.#handles = new Set(message.handles);
        for (const [call_id, waiting] of this.#waiting) this.#send(call_id, waiting);
        this.#started.resolve();
        return;
      case 'broken':
        this.#started.reject(new StartError(message.sentence));
        this.#options.log.error({ problem: message.sentence }, "the user's own code can't be loaded");
        void this.#worker?.kill();
        return;
      case 'answer':
        this.#take(message.call_id)?.resolve(message.answer);
        return;
      case 'refused': {
        const { call_id, status, message: sentence, headers } = message;
        this.#take(call_id)?.reject(new Problem(status, sentence, { headers }));
      }
    }
  }

  #take(call_id: number): Waiting | undefined {
    const waiting = this.#waiting.get(call_id);
    this.#waiting.delete(call_id);
    clearTimeout(waiting?.timer);
    return waiting;
  }

  #fail(call_id: number, sentence: string): void {
    this.#take(call_id)?.reject(new Unavailable(sentence));
  }

  /** Gives up a question. A thread that has said nothing since it was asked is stuck, and ends. */
  #endLate(call_id: number): void {
    const { threads = 0, askedAt = 0 } = this.#waiting.get(call_id) ?? {};
    this.#fail(call_id, `The handler of auth.path did not answer within ${this.#options.within / 1000} s.`);
    if (threads > 0 && this.#heardAt < askedAt) void this.#worker?.kill();
  }

  /** Ends the thread when one handler has held it for too long. */
  #endStuck(): void {
    const call = Atomics.load(this.#running, 0);
    if (call === 0 || call !== this.#held.call) this.#held = { call, since: performance.now() };
    else if (performance.now() - this.#held.since > STUCK) {
      this.#options.log.warn({ handler: this.#waiting.get(call)?.question.ask }, 'ending the thread of a handler that does not yield');
      this.#fail(call, 'The handler of auth.path does not yield: it held its thread for more than two seconds.');
      this.#held = { call: 0, since: 0 };
      void this.#worker?.kill();
    }
  }

  async #replace(): Promise<void> {
    const wasReady = this.#ready;
    this.#ready = false;
    this.#started.reject(new StartError("The thread of the user's own code ended while it was loading."));
    if (this.#closed) {
      for (const call_id of this.#waiting.keys()) this.#fail(call_id, 'The server is stopping.');
      return;
    }
    for (const [call_id, { threads }] of this.#waiting)
      if (threads >= MOST_THREADS) this.#fail(call_id, 'The thread of the handlers of auth.path ended before it answered.');
    if (!wasReady) await wait(RETRY);
    if (this.#closed) return;
    this.#started = Promise.withResolvers<void>();
    this.#started.promise.catch(() => undefined);
    this.#open();
  }
}
