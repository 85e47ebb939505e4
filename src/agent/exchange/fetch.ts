import { toError, NotFound, Problem } from '../../errors.ts';
import type { ExchangeMessage, OwnCall } from '../../schema/wire/wall/exchange.ts';
import { toBodySource, toReadableStream } from './bodies.ts';
import { Exchanges, type Replied } from './exchanges.ts';
import { toExchangeRefusal } from './refusal.ts';

export type LeftBody = string | ArrayBuffer | ReadableStream<Uint8Array> | null;

export type SentRequest = Pick<Request, 'method' | 'url' | 'headers'>;
export type Sent = { body: LeftBody; signal: AbortSignal };

/** The answers to these have no body. */
export const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** Asks the other thread. Its refusal is an answer, as it is for any client. */
export async function fetchFrom<Purpose>(
  exchanges: Exchanges<Purpose, never>,
  purpose: Purpose,
  { method, url, headers }: SentRequest,
  { body, signal }: Sent,
): Promise<Response> {
  const stream = body === null ? null : new Response(body).body;
  const head = { method, url, headers: [...headers] };
  try {
    return toResponse(
      await exchanges.ask({
        head,
        purpose,
        body: stream === null ? undefined : toBodySource(stream),
        signal,
      }),
    );
  } catch (error) {
    if (!(error instanceof Problem) || signal.aborted) throw error;
    return Response.json(
      { detail: error.message },
      { status: error.status, headers: error.headers },
    );
  }
}

function toResponse({ head: { status, headers }, body }: Replied): Response {
  if (body === undefined || BODILESS.has(status)) return new Response(null, { status, headers });
  // A middleware may put another body under the same headers.
  const left = headers.filter(([name]) => name !== 'content-length');
  return new Response(toReadableStream(body), { status, headers: left });
}

/**
 * Lets clients of `@langchain/langgraph-sdk` that name no address ask this server without the network: they look for
 * these two names.
 */
export function bindFetch(ask: (request: Request) => Promise<Response>): void {
  // Symbols are no names of the global object's type.
  const names = globalThis as unknown as Record<symbol, unknown>;
  names[Symbol.for('langgraph_api:url')] = 'http://localhost';
  names[Symbol.for('langgraph_api:fetch')] = (input: string | URL | Request, init?: RequestInit) =>
    ask(new Request(input, init));
}

/**
 * Does so by messages that `send` takes to the server. `headersNow` returns headers of each request that has not its
 * own. Returns the function that hears the server's messages.
 */
export function bindFetchBy(
  send: (message: ExchangeMessage<OwnCall>) => void,
  headersNow: () => Readonly<Record<string, string>> = () => ({}),
): (message: ExchangeMessage<never>) => void {
  let last = 0;
  const exchanges = new Exchanges<OwnCall, never>({
    send,
    answer: () => Promise.reject(new NotFound('Nothing is served here.')),
    refusal: (thrown) => toExchangeRefusal(toError(thrown)),
    nextId: () => (last += 1),
  });
  bindFetch((request) => {
    for (const [name, value] of Object.entries(headersNow()))
      if (!request.headers.has(name)) request.headers.set(name, value);
    return fetchFrom(exchanges, { want: 'call' }, request, request);
  });
  return (message) => exchanges.handleMessage(message);
}
