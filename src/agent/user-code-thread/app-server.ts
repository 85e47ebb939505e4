import { asError, NotFound, Problem } from '../../errors.ts';
import { sourceOfStream, streamOfSource } from '../exchange/bodies.ts';
import { Exchanges, type AnswerHere, type Replied, type AskedHere } from '../exchange/exchanges.ts';
import type { ExchangeMessage } from '../exchange/messages.ts';
import { BEGUN, HOLDS, type ForApp, type ForServer } from '../user-code/protocol.ts';
import type { App, LeftBody, Standing } from './app.ts';

type Options = {
  send(message: ExchangeMessage<ForServer>): void;
  running: Int32Array<SharedArrayBuffer>;
  refusal(thrown: unknown): { status: number; message: string; headers: Record<string, string> };
  /** Hears of a failure that no answer tells. */
  failed(error: Error): void;
};

/** The answers to these have no body. */
const BODILESS = new Set([101, 204, 205, 304]);

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

  hear(message: ExchangeMessage<ForApp>): void {
    this.#exchanges.hear(message);
  }

  #answer(asked: AskedHere<ForApp>): Promise<AnswerHere> {
    const { running } = this.#options;
    Atomics.store(running, BEGUN, asked.exchange);
    Atomics.store(running, HOLDS, asked.exchange);
    const answer = this.#fetch(asked);
    Atomics.store(running, HOLDS, 0);
    return answer;
  }

  async #fetch({ exchange, head, body, purpose, signal }: AskedHere<ForApp>): Promise<AnswerHere> {
    if (this.app === undefined) throw new NotFound('Not Found');
    const { method, url, headers } = head;
    const request = new Request(url, {
      method,
      headers,
      signal,
      ...(body !== undefined && { body: streamOfSource(body), duplex: 'half' }),
    });
    const standing: Standing = {
      next: (passed, left) => {
        const isSame = passed === request && left === request.body;
        return this.#ask({ want: 'next', exchange }, isSame ? passed : withoutLength(passed), { body: left, signal });
      },
      guard: (seen) => this.#ask({ want: 'caller', exchange }, seen, { body: null, signal }),
      user: purpose.user,
      waits: (promise) => void promise.catch((error: unknown) => this.#options.failed(asError(error))),
    };
    return answerOf(await this.app.fetch(request, standing), method);
  }

  async #ask(purpose: ForServer, { method, url, headers }: Seen, { body, signal }: Sent): Promise<Response> {
    const stream = body === null ? null : new Response(body).body;
    const head = { method, url, headers: [...headers] };
    try {
      return responseOf(await this.#exchanges.ask({ head, purpose, body: stream === null ? undefined : sourceOfStream(stream), signal }));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return Response.json({ detail: error.message }, { status: error.status, headers: error.headers });
    }
  }
}

type Seen = Pick<Request, 'method' | 'url' | 'headers'>;
type Sent = { body: LeftBody; signal: AbortSignal };

/** Returns a request whose body a middleware has changed without what was said of the length. */
function withoutLength({ method, url, headers }: Request): Seen {
  const left = new Headers(headers);
  left.delete('content-length');
  return { method, url, headers: left };
}

function responseOf({ head: { status, headers }, body }: Replied): Response {
  if (body === undefined || BODILESS.has(status)) return new Response(null, { status, headers });
  // A middleware may put another body under the same headers.
  const left = headers.filter(([name]) => name !== 'content-length');
  return new Response(streamOfSource(body), { status, headers: left });
}

/** Returns the answer of the application, which may be a `Response` of its own making. */
function answerOf(response: unknown, method: string): AnswerHere {
  const { status, headers, body } = Object(response) as Partial<Response>;
  if (typeof status !== 'number' || headers === undefined) throw new Problem(500, 'http.app returned no Response.');
  const head = { status, headers: [...headers] };
  const isEmpty = body === undefined || body === null || method === 'HEAD' || BODILESS.has(status);
  return { head, body: isEmpty ? undefined : sourceOfStream(body) };
}

/**
 * Lets clients of `@langchain/langgraph-sdk` that name no address ask this server without the network: they look for
 * these two names.
 */
function bindFetch(ask: (request: Request) => Promise<Response>): void {
  // Symbols are no names of the global object's type.
  const names = globalThis as unknown as Record<symbol, unknown>;
  names[Symbol.for('langgraph_api:url')] = 'http://localhost';
  names[Symbol.for('langgraph_api:fetch')] = (input: string | URL | Request, init?: RequestInit) => ask(new Request(input, init));
}
