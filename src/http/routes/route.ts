import type { IncomingHttpHeaders } from 'node:http';
import type { Static, TObject, TSchema } from 'typebox';
import type { Log } from '../../log.ts';
import type { Forwarded } from '../callers/client.ts';

/**
 * One message of an event stream. `data` is sent as one line of JSON; `json` is such a line already.
 */
export type SseEvent = { event: string; id?: string } & ({ data: unknown } | { json: string });

/** Events one by one, or in lists of events that are sent together. */
export type SseEvents = AsyncIterable<SseEvent | SseEvent[]>;

/**
 * `idsFrom`: where a client stands that has no message of a stream yet. It makes every message of the stream have an
 * id: one that comes without has that of the message before it, so that the client goes on behind the last message that
 * it has.
 */
export type MessageIds = { idsFrom?: string };

/**
 * How the messages of a stream are written. `names`: each has a line with its event's name. `writeFailure` makes the
 * last message of a stream that fails, and `lostRight` is that of one whose credentials are refused.
 */
export type SseDialect = {
  newline: '\r\n' | '\n';
  names: boolean;
  writeFailure: (sentence: string) => SseEvent;
  lostRight: SseEvent;
};

/** The ids of a stream's messages, and how they are written. */
export type StreamForm = MessageIds & { dialect?: SseDialect };

/** The answer of a handler. Functions that begin with `answer` make it. */
export type Reply = { status: number; headers?: Record<string, string> } & (
  | { kind: 'json'; body: unknown }
  | { kind: 'empty' }
  | { kind: 'text'; body: string; type: string }
  | ({ kind: 'sse'; events: (signal: AbortSignal) => SseEvents } & StreamForm)
  | { kind: 'slow-json'; text: (signal: AbortSignal) => Promise<string> }
  | { kind: 'chunks'; chunks: AsyncIterable<Uint8Array>; type: string }
);

type Headers = Record<string, string>;

export const answerJson = (body: unknown, status = 200, headers: Headers = {}): Reply => ({
  kind: 'json',
  status,
  body,
  headers,
});

/** Answers with JSON that is already text. */
export const answerJsonText = (body: string): Reply =>
  answerText(body, 'application/json; charset=utf-8');

export const answerNoContent = (status = 204, headers: Headers = {}): Reply => ({
  kind: 'empty',
  status,
  headers,
});

export const answerText = (
  body: string,
  type = 'text/plain; charset=utf-8',
  status = 200,
): Reply => ({ kind: 'text', status, body, type });

/**
 * Answers with a stream of events. The signal is aborted when the client leaves, and every generator must end on it.
 */
export const answerEvents = (
  events: (signal: AbortSignal) => SseEvents,
  { headers = {}, ...form }: { headers?: Headers } & StreamForm = {},
): Reply => ({ kind: 'sse', status: 200, events, headers, ...form });

/**
 * Answers with JSON that may take minutes. The status 200 is sent at once, and blank lines keep the connection alive
 * until the body is known.
 */
export const answerSlowJson = (
  body: (signal: AbortSignal) => Promise<unknown>,
  headers: Headers = {},
): Reply =>
  answerSlowJsonText(async (signal) => JSON.stringify((await body(signal)) ?? null), headers);

/** Does the same with JSON that is text already. */
export const answerSlowJsonText = (
  body: (signal: AbortSignal) => Promise<string>,
  headers: Headers = {},
): Reply => ({
  kind: 'slow-json',
  status: 200,
  text: body,
  headers,
});

type Of<S> = S extends TSchema ? Static<S> : undefined;

/** A request whose parts have passed their schemas. */
export type Request<P = unknown, Q = unknown, B = unknown, Caller = unknown> = {
  params: P;
  query: Q;
  body: B;
  headers: IncomingHttpHeaders;
  caller: Caller;
  /** The address that it comes from; behind a proxy that is not trusted, the proxy's. */
  source: string;
  forwarded: Forwarded;
  requestId: string;
  log: Log;
  /** Aborted when the client leaves before the answer is complete. */
  signal: AbortSignal;
};

/** A failure as it is answered: `detail` says what is wrong. */
export type PlainFailure = { status: number; detail: string };

/** `streams`: the same may also come as a stream of events. */
export type AnswerDescription = {
  description: string;
  schema?: TSchema;
  contentType?: string;
  streams?: boolean;
  headers?: Record<string, string>;
};

/** A request before its body is read. `params`: the route's, which are valid. `bytes`: the most that the body takes. */
export type Arriving = {
  params: unknown;
  headers: IncomingHttpHeaders;
  source: string;
  bytes: number;
};

/** Lets bodies in where the route itself knows who may send them. */
export type BodyAdmission = {
  /** Seconds within which a body must have come; later it is answered with 408. */
  seconds: number;
  /**
   * Called before a byte of the body is read. Returns the function to call when it is no longer held. Throws for a
   * body that is not to be read.
   */
  admit: (arriving: Arriving) => () => void;
};

/**
 * A route is a value: the input that it accepts, its answers, and the handler, which starts with valid input.
 * `path` is OpenAPI's form (`/threads/{thread_id}`). `access: 'open'` skips authentication. `Parts`: the arguments
 * of the handler behind the request; a route that is served has them already.
 */
export type Route<Caller = unknown, Parts extends unknown[] = []> = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  id: string;
  summary: string;
  tag: string;
  access: 'open' | 'read' | 'write' | 'admin';
  params?: TSchema;
  query?: TSchema;
  /** Headers of the route's own, for its description; the handler checks them. */
  headers?: TObject;
  body?: TSchema;
  /** Takes the body as it came, of so many bytes: the handler gets a Buffer, and there is no schema. */
  rawBody?: { bytes: number };
  /** Must be there if the route is open and takes a body, because nobody else asks who sends it. */
  admission?: BodyAdmission;
  /** Bytes that a body may have, where that is less than elsewhere. */
  bodyBytes?: number;
  /** True when an empty body means `{}`. */
  bodyOptional?: boolean;
  /** True when the body only selects records, so that it may be smaller than one that brings content. */
  selects?: boolean;
  /** True when a request is on record though it only reads. */
  audited?: boolean;
  /** True when the answer waits for a run, so that the request counts as an open stream. */
  waits?: boolean;
  /** True when pages are refused, unless those of their origin may call: the server has no page that uses the route. */
  ownPages?: boolean;
  /** Returns how many runs a request with this body starts. */
  starts?: (body: unknown) => number;
  answers: Record<number, AnswerDescription>;
  /** Returns a failure in the words of the route's own protocol; by default it is answered as `{detail}`. */
  reword?: (refusal: PlainFailure) => { status: number; body: unknown };
  /** Called with values that the route's own schemas have accepted. */
  handler: (
    request: Request<unknown, unknown, unknown, Caller>,
    ...parts: Parts
  ) => Promise<Reply> | Reply;
};

type TypedRoute<P, Q, B, Caller, Parts extends unknown[]> = Omit<
  Route<Caller>,
  'tag' | 'params' | 'query' | 'body' | 'handler'
> & {
  params?: P;
  query?: Q;
  body?: B;
  handler: (
    request: Request<Of<P>, Of<Q>, Of<B>, Caller>,
    ...parts: Parts
  ) => Promise<Reply> | Reply;
};

/** Ties the handler's types to the route's schemas. The server's `authenticate` returns the `Caller`. */
export const buildRouteMaker =
  <Caller, Parts extends unknown[] = []>() =>
  <
    P extends TSchema | undefined = undefined,
    Q extends TSchema | undefined = undefined,
    B extends TSchema | undefined = undefined,
  >(
    route: TypedRoute<P, Q, B, Caller, Parts> & { tag: string },
  ): Route<Caller, Parts> =>
    // The handler takes narrower types than `unknown`. The server checks each part against the schemas beside it.
    route as unknown as Route<Caller, Parts>;

/** Makes the routes of one tag, a function a method. `usual` returns the answers that a route has besides its own. */
export function buildRouteMakers<Caller, Parts extends unknown[] = []>(
  tag: string,
  usual: (route: Pick<Route, 'access' | 'params'>) => Route['answers'] = () => ({}),
) {
  const buildMaker =
    (method: Route['method']) =>
    <
      P extends TSchema | undefined = undefined,
      Q extends TSchema | undefined = undefined,
      B extends TSchema | undefined = undefined,
    >(
      path: string,
      route: Omit<TypedRoute<P, Q, B, Caller, Parts>, 'method' | 'path'>,
    ): Route<Caller, Parts> => {
      const { access, params } = route;
      const answers = {
        ...usual({ access, ...(params !== undefined && { params }) }),
        ...route.answers,
      };
      // The compiler does not see that the two parts together are the whole of a generic type.
      const whole = { ...route, method, path, tag, answers } as TypedRoute<P, Q, B, Caller, Parts> &
        Route;
      return buildRouteMaker<Caller, Parts>()<P, Q, B>(whole);
    };
  return {
    get: buildMaker('get'),
    post: buildMaker('post'),
    put: buildMaker('put'),
    patch: buildMaker('patch'),
    delete: buildMaker('delete'),
  };
}

/** Returns the function that gives the parts to the handlers of these routes. */
export const bindRoutes =
  <Caller, Parts extends unknown[]>(routes: Route<Caller, Parts>[]) =>
  (...parts: Parts): Route<Caller>[] =>
    routes.map(({ handler, ...route }) => ({
      ...route,
      handler: (request) => handler(request, ...parts),
    }));
