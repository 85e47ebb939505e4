import { toError, Problem } from '../../errors.ts';
import { CLIENT_LEFT } from '../../http/server/client-left.ts';
import type {
  AnswerHead,
  BodyOf,
  ExchangeMessage,
  Refusal,
  RequestHead,
} from '../../schema/wire/wall/exchange.ts';
import { IncomingBody, OutgoingBody, PIECE, type BodySource } from './bodies.ts';

/** A request of the other side. The signal is aborted when it wants no answer any more. */
export type AskedHere<Purpose> = {
  exchange: number;
  head: RequestHead;
  purpose: Purpose;
  body: IncomingBody | undefined;
  signal: AbortSignal;
};

export type AnswerHere = { head: Omit<AnswerHead, 'hasBody'>; body: BodySource | undefined };

export type ExchangeRequest<Purpose> = {
  head: Omit<RequestHead, 'hasBody'>;
  purpose: Purpose;
  body: BodySource | undefined;
  signal: AbortSignal;
};

export type Replied = { head: AnswerHead; body: IncomingBody | undefined };

type Own = {
  resolve(answer: Replied): void;
  reject(error: Error): void;
  request?: OutgoingBody;
  answer?: IncomingBody;
};
type Theirs = { left: AbortController; request: IncomingBody | undefined; answer?: OutgoingBody };

type Options<Asks, Hears> = {
  send(message: ExchangeMessage<Asks>): void;
  /** Answers a request of the other side; a thrown error is the refusal. */
  answer(asked: AskedHere<Hears>): Promise<AnswerHere>;
  refusal(thrown: unknown): Refusal;
  nextId(): number;
  /** Whether the beginning of an answer may come before it is read. */
  takesEarly?: boolean;
};

/** One side of the exchanges that two threads have with each other. `Asks` and `Hears` say what requests are for. */
export class Exchanges<Asks, Hears> {
  readonly #options: Options<Asks, Hears>;
  readonly #own = new Map<number, Own>();
  readonly #theirs = new Map<number, Theirs>();

  constructor(options: Options<Asks, Hears>) {
    this.#options = options;
  }

  get count(): number {
    return this.#own.size + this.#theirs.size;
  }

  /** Asks the other side. Throws its refusal as a `Problem`, and the signal's reason when the asker leaves. */
  ask({
    head,
    purpose,
    body,
    signal,
  }: ExchangeRequest<Asks>): Promise<Replied> & { exchange: number } {
    const exchange = this.#options.nextId();
    const { promise, resolve, reject } = Promise.withResolvers<Replied>();
    const own: Own = { resolve, reject };
    this.#own.set(exchange, own);
    if (signal.aborted) this.#leave(exchange, signal);
    else {
      signal.addEventListener('abort', () => this.#leave(exchange, signal), { once: true });
      const early = this.#options.takesEarly === true && { room: PIECE };
      this.#options.send({
        kind: 'ask',
        exchange,
        head: { ...head, hasBody: body !== undefined },
        purpose,
        ...early,
      });
      if (body !== undefined) own.request = this.#createOutgoing(exchange, 'request', body);
    }
    return Object.assign(promise, { exchange });
  }

  fail(exchange: number, error: Error): void {
    const own = this.#own.get(exchange);
    if (own === undefined) return;
    this.#own.delete(exchange);
    own.reject(error);
    own.request?.stop();
    own.answer?.end(error.message);
  }

  /** Ends all exchanges: the other side is gone. */
  failAll(errorOf: (exchange: number) => Error): void {
    for (const exchange of this.#own.keys()) this.fail(exchange, errorOf(exchange));
    for (const { left, request, answer } of this.#theirs.values()) {
      left.abort(CLIENT_LEFT);
      request?.end(CLIENT_LEFT.message);
      answer?.stop();
    }
    this.#theirs.clear();
  }

  handleMessage(message: ExchangeMessage<Hears>): void {
    const { exchange } = message;
    switch (message.kind) {
      case 'ask':
        void this.#answer(exchange, message.head, message.purpose);
        return;
      case 'leave':
        this.#endPeerExchange(exchange);
        return;
      case 'answer':
        this.#handleAnswer(exchange, message.head);
        return;
      case 'refused':
        this.fail(
          exchange,
          new Problem(message.status, message.message, { headers: message.headers }),
        );
        return;
      default:
        this.#handleBodyMessage(message);
    }
  }

  #handleBodyMessage(message: Extract<ExchangeMessage<Hears>, { of: BodyOf }>): void {
    const { exchange, of } = message;
    switch (message.kind) {
      case 'chunk':
        this.#read(exchange, of)?.push(message.bytes);
        return;
      case 'end':
        this.#read(exchange, of)?.end(message.failure);
        if (of === 'answer') this.#finish(exchange);
        return;
      case 'more':
        this.#findOutgoing(exchange, of)?.addRoom(message.bytes);
        return;
      case 'stop':
        this.#findOutgoing(exchange, of)?.stop();
        if (of === 'answer') this.#endPeerExchange(exchange);
    }
  }

  /** Returns the body that is read here: that of the other side's request, or of the answer to one's own. */
  #read(exchange: number, of: BodyOf): IncomingBody | undefined {
    return of === 'request' ? this.#theirs.get(exchange)?.request : this.#own.get(exchange)?.answer;
  }

  #findOutgoing(exchange: number, of: BodyOf): OutgoingBody | undefined {
    return of === 'request' ? this.#own.get(exchange)?.request : this.#theirs.get(exchange)?.answer;
  }

  #handleAnswer(exchange: number, head: AnswerHead): void {
    const own = this.#own.get(exchange);
    if (own === undefined) return;
    if (head.hasBody) own.answer = this.#createIncoming(exchange, 'answer');
    else this.#finish(exchange);
    own.resolve({ head, body: own.answer });
  }

  /** Ends an own exchange whose answer is complete, or is not wanted any more. */
  #finish(exchange: number): void {
    this.#own.get(exchange)?.request?.stop();
    this.#own.delete(exchange);
  }

  #leave(exchange: number, signal: AbortSignal): void {
    if (!this.#own.has(exchange)) return;
    this.fail(exchange, toError(signal.reason));
    this.#options.send({ kind: 'leave', exchange });
  }

  /** Ends an exchange of the other side: its answer is complete, or is not wanted any more. */
  #endPeerExchange(exchange: number): void {
    const theirs = this.#theirs.get(exchange);
    this.#theirs.delete(exchange);
    theirs?.left.abort(CLIENT_LEFT);
    theirs?.request?.end(CLIENT_LEFT.message);
    theirs?.answer?.stop();
  }

  async #answer(exchange: number, head: RequestHead, purpose: Hears): Promise<void> {
    const left = new AbortController();
    const theirs: Theirs = {
      left,
      request: head.hasBody ? this.#createIncoming(exchange, 'request') : undefined,
    };
    this.#theirs.set(exchange, theirs);
    try {
      const { head: answer, body } = await this.#options.answer({
        exchange,
        head,
        purpose,
        body: theirs.request,
        signal: left.signal,
      });
      if (this.#theirs.get(exchange) !== theirs) {
        body?.cancel();
        return;
      }
      this.#options.send({
        kind: 'answer',
        exchange,
        head: { ...answer, hasBody: body !== undefined },
      });
      if (body === undefined) this.#endPeerExchange(exchange);
      else theirs.answer = this.#createOutgoing(exchange, 'answer', body);
    } catch (thrown) {
      if (this.#theirs.delete(exchange))
        this.#options.send({ kind: 'refused', exchange, ...this.#options.refusal(thrown) });
    }
  }

  #createIncoming(exchange: number, of: BodyOf): IncomingBody {
    return new IncomingBody({
      more: (bytes) => this.#options.send({ kind: 'more', exchange, of, bytes }),
      stop: () => {
        this.#options.send({ kind: 'stop', exchange, of });
        if (of === 'answer') this.#finish(exchange);
      },
    });
  }

  #createOutgoing(exchange: number, of: BodyOf, source: BodySource): OutgoingBody {
    return new OutgoingBody(source, {
      chunk: (bytes) => this.#options.send({ kind: 'chunk', exchange, of, bytes }),
      end: (failure) => {
        this.#options.send({
          kind: 'end',
          exchange,
          of,
          ...(failure !== undefined && { failure }),
        });
        if (of === 'answer') this.#endPeerExchange(exchange);
      },
    });
  }
}
