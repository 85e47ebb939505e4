import { toError, NotFound, Problem } from '../../errors.ts';
import type { ExchangeMessage, Refusal } from '../../schema/wire/wall/exchange.ts';
import type { ForApp, ForServer } from '../../schema/wire/wall/user-code.ts';
import { toBodySource, toReadableStream } from '../exchange/bodies.ts';
import { Exchanges, type AnswerHere, type AskedHere } from '../exchange/exchanges.ts';
import { bindFetch, BODILESS, fetchFrom, type SentRequest, type Sent } from '../exchange/fetch.ts';
import type { Liveness } from '../user-code/liveness.ts';
import type { App, Standing } from './app.ts';

type Options = {
  send(message: ExchangeMessage<ForServer>): void;
  liveness: Liveness;
  refusal(thrown: unknown): Refusal;
  /** Hears of a failure that no answer tells. */
  failed(error: Error): void;
};

/** Serves the application to the server, and the server to the application. */
export class AppServer {
  app: App | undefined;
  readonly #options: Options;
  readonly #exchanges: Exchanges<ForServer, ForApp>;

  constructor(options: Options) {
    this.#options = options;
    let last = 0;
    this.#exchanges = new Exchanges<ForServer, ForApp>({
      send: options.send,
      answer: (asked) => this.#answer(asked),
      refusal: options.refusal,
      nextId: () => (last += 1),
    });
    bindFetch((request) => this.#ask({ want: 'call' }, request, request));
  }

  handleMessage(message: ExchangeMessage<ForApp>): void {
    this.#exchanges.handleMessage(message);
  }

  #answer(asked: AskedHere<ForApp>): Promise<AnswerHere> {
    const { liveness } = this.#options;
    liveness.begun = asked.exchange;
    liveness.holds = asked.exchange;
    const answer = this.#fetch(asked);
    liveness.holds = 0;
    return answer;
  }

  async #fetch({ exchange, head, body, purpose, signal }: AskedHere<ForApp>): Promise<AnswerHere> {
    if (this.app === undefined) throw new NotFound('Not Found');
    const { method, url, headers } = head;
    const request = new Request(url, {
      method,
      headers,
      signal,
      ...(body !== undefined && { body: toReadableStream(body), duplex: 'half' }),
    });
    const standing: Standing = {
      next: (passed, left) => {
        const isSame = passed === request && left === request.body;
        return this.#ask({ want: 'next', exchange }, isSame ? passed : stripLength(passed), {
          body: left,
          signal,
        });
      },
      guard: (seen) => this.#ask({ want: 'caller', exchange }, seen, { body: null, signal }),
      user: purpose.user,
      waits: (promise) =>
        void promise.catch((error: unknown) => this.#options.failed(toError(error))),
    };
    return toAnswerHere(await this.app.fetch(request, standing), method);
  }

  #ask(purpose: ForServer, seen: SentRequest, sent: Sent): Promise<Response> {
    return fetchFrom(this.#exchanges, purpose, seen, sent);
  }
}

/** Returns a request whose body a middleware has changed without the headers about its length. */
function stripLength({ method, url, headers }: Request): SentRequest {
  const left = new Headers(headers);
  left.delete('content-length');
  return { method, url, headers: left };
}

/** Returns the answer of the application, which may be a `Response` of its own making. */
function toAnswerHere(response: unknown, method: string): AnswerHere {
  const { status, headers, body } = Object(response) as Partial<Response>;
  if (typeof status !== 'number' || headers === undefined)
    throw new Problem(500, 'http.app returned no Response.');
  const head = { status, headers: [...headers] };
  const isEmpty = body === undefined || body === null || method === 'HEAD' || BODILESS.has(status);
  return { head, body: isEmpty ? undefined : toBodySource(body) };
}
