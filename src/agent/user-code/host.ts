import { setTimeout as wait } from 'node:timers/promises';
import { Problem, StartError, Unavailable } from '../../errors.ts';
import { isFault } from '../../http/routes/error-body.ts';
import type { Log } from '../../log.ts';
import { checkProtocolVersion, WALL_VERSION } from '../../schema/wire/wall/rules.ts';
import type {
  ForApp,
  ForServer,
  FromUserCode,
  HandlerQuestion,
  Questions,
  UserCodeStart,
} from '../../schema/wire/wall/user-code.ts';
import {
  Exchanges,
  type AnswerHere,
  type Replied,
  type AskedHere,
  type ExchangeRequest,
} from '../exchange/exchanges.ts';
import { toExchangeRefusal } from '../exchange/refusal.ts';
import { StuckWatch } from './stuck.ts';
import { openCodeWorker, type CodeRunner, type OpenCodeRunner } from './worker.ts';

type HostOptions = {
  start: Omit<UserCodeStart, 'sendsLog'>;
  /** Milliseconds that a handler of `auth.path` or `encryption.path`, and `http.app`, may take to answer. */
  within: { auth: number; encryption: number; app: number };
  log: Log;
  /** Hears the lines of the thread's log, where it sends them. */
  line?: ((line: string) => void) | undefined;
  /** The place where the code runs: a worker of this process unless another is given. */
  open?: OpenCodeRunner;
};

type ReadyCode = Extract<FromUserCode, { kind: 'ready' }>;
type Waiting = {
  question: HandlerQuestion;
  resolve: (answer: Questions[keyof Questions]['answer']) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
  /** How many threads were asked. */
  threads: number;
};

/** Answers the application's requests to the server. */
export type Serve = (asked: AskedHere<ForServer>) => Promise<AnswerHere>;

/** Milliseconds between two looks at the thread, and between two tries to bring it up. */
const [LOOK_EVERY, RETRY] = [500, 1000];
/** A question is asked again when its thread ended over another one, but not forever: it may be the reason. */
const MOST_THREADS = 2;

const ENDED = "The thread of the user's own code ended before it answered; try again.";

const OF_ENCRYPTION = new Set(['cipher', 'context']);
const describeHandler = (ask: keyof Questions | undefined): string =>
  `The handler of ${ask === undefined ? 'http.app' : OF_ENCRYPTION.has(ask) ? 'encryption.path' : 'auth.path'}`;

/** The thread ended before it began with a request, so the next thread may be asked. */
class NotBegun extends Unavailable {}

/**
 * Keeps the thread of the user's own code. Code that never yields loses the thread; questions that it had not begun are
 * asked again in the next one.
 */
export class UserCode {
  readonly #options: HostOptions & { open: OpenCodeRunner };
  readonly #waiting = new Map<number, Waiting>();
  readonly #exchanges: Exchanges<ForApp, ForServer>;
  readonly #look: NodeJS.Timeout;
  #serve: Serve = () => Promise.reject(new Unavailable('The server is starting.'));
  #worker: CodeRunner | undefined;
  #stuck = new StuckWatch();
  #callId = 0;
  #ready = false;
  #closed = false;
  #started = Promise.withResolvers<void>();
  #handles: ReadonlySet<string> = new Set();
  #loaded: ReadyCode | undefined;
  #document: Record<string, unknown> | undefined;

  constructor(options: HostOptions) {
    this.#options = { open: openCodeWorker, ...options };
    this.#exchanges = new Exchanges<ForApp, ForServer>({
      send: (message) => this.#worker?.send({ kind: 'exchange', message }),
      answer: (asked) => this.#serve(asked),
      refusal: (thrown) => {
        if (isFault(thrown))
          options.log.error({ err: thrown }, 'a request of http.app to its server failed');
        return toExchangeRefusal(thrown);
      },
      nextId: () => this.#takeCallId(),
      takesEarly: true,
    });
    this.#look = setInterval(() => this.#watch(), LOOK_EVERY).unref();
  }

  /** Loads the user's code. Throws a `StartError` that says what is wrong with it. */
  async open(): Promise<void> {
    this.#open();
    await this.#started.promise;
  }

  get handles(): ReadonlySet<string> {
    return this.#handles;
  }

  /** Whether the module of `encryption.path` encrypts, and whether it derives contexts of requests from callers. */
  get module(): { encrypts: boolean; derives: boolean } {
    return { encrypts: this.#loaded?.encrypts === true, derives: this.#loaded?.derives === true };
  }

  /** The facts of `http.app`; undefined without one. */
  get app(): ReadyCode['app'] {
    return this.#loaded?.app;
  }

  /** How `http.app` describes itself, as far as it has. */
  get document(): Record<string, unknown> | undefined {
    return this.#document;
  }

  serve(serve: Serve): void {
    this.#serve = serve;
  }

  /**
   * Asks a handler. Throws its refusal as a `Problem` with its status and headers, and `Unavailable` when it does not
   * answer in time or the thread ended over it.
   */
  ask<K extends keyof Questions>(
    ask: K,
    args: Questions[K]['args'],
  ): Promise<Questions[K]['answer']> {
    const call_id = this.#takeCallId();
    const limit = this.#options.within[OF_ENCRYPTION.has(ask) ? 'encryption' : 'auth'];
    return new Promise((resolve, reject) => {
      const handleTimeout = (): void =>
        this.#fail(call_id, `${describeHandler(ask)} did not answer within ${limit / 1000} s.`);
      const timer = setTimeout(handleTimeout, limit);
      const question = { ask, ...args } as HandlerQuestion;
      const waiting: Waiting = {
        question,
        resolve: resolve as Waiting['resolve'],
        reject,
        timer,
        threads: 0,
      };
      this.#waiting.set(call_id, waiting);
      this.#send(call_id, waiting);
    });
  }

  /**
   * Asks the application. Throws `Unavailable` when it does not begin to answer in time or the thread ended over it.
   * `begins` is called with the number of the exchange.
   */
  async fetch(
    asking: ExchangeRequest<ForApp>,
    begins: (exchange: number) => void,
  ): Promise<Replied> {
    const late = new AbortController();
    const { app } = this.#options.within;
    const timer = setTimeout(
      () => late.abort(new Unavailable(`http.app did not answer within ${app / 1000} s.`)),
      app,
    );
    const signal = AbortSignal.any([asking.signal, late.signal]);
    try {
      for (let threads = 1; ; threads += 1) {
        await this.#waitUntilReady(signal);
        const asked = this.#exchanges.ask({ ...asking, signal });
        begins(asked.exchange);
        try {
          return await asked;
        } catch (error) {
          if (!(error instanceof NotBegun) || threads >= MOST_THREADS) throw error;
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#look);
    await (this.#worker?.stop ?? this.#worker?.kill)?.();
  }

  #takeCallId(): number {
    this.#callId = (this.#callId % 0x7f_ff_ff_ff) + 1;
    return this.#callId;
  }

  async #waitUntilReady(signal: AbortSignal): Promise<void> {
    while (!this.#ready) {
      signal.throwIfAborted();
      if (this.#closed) throw new Unavailable('The server is stopping.');
      const { promise, reject } = Promise.withResolvers<never>();
      const leave = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', leave, { once: true });
      // A thread that could not be started is followed by another.
      await Promise.race([this.#started.promise.catch(() => wait(RETRY)), promise]).finally(() =>
        signal.removeEventListener('abort', leave),
      );
    }
  }

  #open(): void {
    this.#stuck = new StuckWatch();
    this.#worker = this.#options.open({
      message: (message) => this.#receive(message),
      crashed: (error) =>
        this.#options.log.error({ err: error }, "the thread of the user's own code crashed"),
      ended: () => void this.#replace(),
    });
    const sendsLog = this.#options.line !== undefined;
    this.#worker.send({
      kind: 'start',
      version: WALL_VERSION,
      start: { ...this.#options.start, sendsLog },
    });
  }

  #send(call_id: number, waiting: Waiting): void {
    // Questions that come before the thread is ready are asked when it is.
    if (!this.#ready) return;
    waiting.threads += 1;
    this.#worker!.send({ kind: 'question', call_id, question: waiting.question });
  }

  #receive(message: FromUserCode): void {
    this.#stuck.clearPing();
    if (message.kind === 'log') this.#options.line?.(message.line);
    else this.#handleMessage(message);
  }

  #handleMessage(message: Exclude<FromUserCode, { kind: 'log' }>): void {
    switch (message.kind) {
      case 'ready':
        this.#begin(message);
        return;
      case 'broken':
        this.#handleBroken(message.sentence);
        return;
      case 'document':
        this.#document = message.document;
        return;
      case 'exchange':
        this.#exchanges.handleMessage(message.message);
        return;
      case 'answer':
        this.#take(message.call_id)?.resolve(message.answer);
        return;
      case 'refused':
        this.#take(message.call_id)?.reject(
          new Problem(message.status, message.message, { headers: message.headers }),
        );
        return;
      case 'pong':
    }
  }

  #begin(loaded: ReadyCode): void {
    const fault = checkProtocolVersion("The runner of the user's own code", loaded.version);
    if (fault !== undefined) return this.#handleBroken(fault);
    this.#ready = true;
    this.#handles = new Set(loaded.handles);
    this.#loaded = loaded;
    for (const [call_id, waiting] of this.#waiting) this.#send(call_id, waiting);
    this.#started.resolve();
  }

  #handleBroken(sentence: string): void {
    this.#started.reject(new StartError(sentence));
    this.#options.log.error({ problem: sentence }, "the user's own code can't be loaded");
    void this.#worker?.kill();
  }

  #take(call_id: number): Waiting | undefined {
    const waiting = this.#waiting.get(call_id);
    this.#waiting.delete(call_id);
    clearTimeout(waiting?.timer);
    return waiting;
  }

  #fail(call: number, sentence: string): void {
    this.#take(call)?.reject(new Unavailable(sentence));
    this.#exchanges.fail(call, new Unavailable(sentence));
  }

  /** Ends the thread when something has held it for too long. */
  #watch(): void {
    if (!this.#ready || this.#worker === undefined) return;
    const isAsked = this.#waiting.size + this.#exchanges.count > 0;
    const look = this.#stuck.look(this.#worker.liveness, { now: performance.now(), isAsked });
    if (look === 'well') return;
    if (look === 'ping') {
      this.#worker.send({ kind: 'ping' });
      return;
    }
    const { call = 0 } = look;
    const asked = this.#waiting.get(call)?.question.ask;
    this.#options.log.warn(
      { handler: call === 0 ? 'unknown' : (asked ?? 'http.app') },
      'ending the thread of a handler that does not yield',
    );
    this.#fail(
      call,
      `${describeHandler(asked)} does not yield: it held its thread for more than two seconds.`,
    );
    void this.#worker.kill();
  }

  async #replace(): Promise<void> {
    const wasReady = this.#ready;
    this.#ready = false;
    this.#started.reject(
      new StartError("The thread of the user's own code ended while it was loading."),
    );
    const begun = this.#worker?.liveness.begun ?? 0;
    this.#exchanges.failAll((exchange) =>
      exchange > begun ? new NotBegun(ENDED) : new Unavailable(ENDED),
    );
    if (this.#closed) {
      for (const call_id of this.#waiting.keys()) this.#fail(call_id, 'The server is stopping.');
      return;
    }
    for (const [call_id, { threads, question }] of this.#waiting)
      if (threads >= MOST_THREADS)
        this.#fail(call_id, `${describeHandler(question.ask)} did not answer: its thread ended.`);
    if (!wasReady) await wait(RETRY);
    if (this.#closed) return;
    this.#started = Promise.withResolvers<void>();
    this.#started.promise.catch(() => undefined);
    this.#open();
  }
}
