import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Router, type RouterContext } from '@koa/router';
import Koa from 'koa';
import { Forbidden, NotFound, Problem, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { readAnnouncedBytes, type BodyLimits } from '../bodies/body.ts';
import { getBodyLimit, readBody } from './route-body.ts';
import { CLIENT_LEFT } from './client-left.ts';
import { CostlyBodies } from '../bodies/costly-bodies.ts';
import {
  buildErrorReply,
  isFault,
  getRefusalReason,
  type InvalidStyle,
} from '../routes/error-body.ts';
import { isNeverTrusted, type Trusts } from '../callers/client.ts';
import { getClient, resolveRequestClient, getInside } from './in-process.ts';
import { getTraceFields } from './request-spans.ts';
import type { Reply, Request, Route } from '../routes/route.ts';
import { refuseUnstorable } from '../bodies/storable.ts';
import { send } from '../routes/send.ts';
import { SSE_TYPE } from '../routes/sse.ts';
import { leaveUnread } from '../bodies/unread-body.ts';
import { createValidator } from '../bodies/validate.ts';
import { limitReply } from '../routes/while-allowed.ts';

export type Origin = { source: string; method: string; url: string };

/** Returns who calls, by the request's headers and origin. Throws `Unauthorized` or `Forbidden`. */
type Authenticate<Caller> = (
  headers: Koa.Context['headers'],
  access: Route['access'],
  origin: Origin,
) => Promise<Caller> | Caller;

/** The parts of a request that are known when it is answered. Each is there once the request got so far. */
export type RequestState<Caller> = {
  route: Route<Caller>;
  caller?: Caller;
  params?: unknown;
  query?: unknown;
  reply?: Reply;
};

export type Answered<Caller> = {
  method: string;
  route: string;
  status: number;
  seconds: number;
  requestId: string;
  source: string;
  headers: IncomingHttpHeaders;
  /** Undefined where no route fits the request. */
  asked: RequestState<Caller> | undefined;
  /** The word for a refusal; undefined for any other answer. */
  refusal?: string | undefined;
};

export type AppOptions<Caller> = {
  routes: Route<Caller>[];
  log: Log;
  invalid: InvalidStyle;
  authenticate: Authenticate<Caller>;
  /** Throws `Forbidden` if a known caller may not use such a route. */
  permit?: (caller: Caller, access: Route['access']) => void;
  body: BodyLimits;
  /** The proxies whose word about the client counts; by default nobody's does. */
  trusts?: Trusts;
  /** Returns the name under which large bodies of a caller take turns with those of others; by default the address. */
  nameOf?: (caller: Caller) => string;
  /** Returns how the work of a request of the caller is done; by default, as it is. */
  surrounding?:
    | ((headers: IncomingHttpHeaders, caller: Caller) => Promise<Surrounding>)
    | undefined;
  /**
   * Called before a stream or a wait for a run opens. Returns the function to call when it has ended. Throws a 429 for
   * one too many.
   */
  opens?: (caller: Caller) => () => void;
  /** Returns whether pages of an origin may call; by default any may. */
  permitsOrigin?: (origin: string) => boolean;
  /** Called before a handler that starts runs, with their number. Throws a 429 for too many. */
  starts?: (caller: Caller, count: number) => void;
  /** Seconds of silence after which a stream or a slow answer is kept alive by a filler. */
  heartbeatSeconds?: number;
  /** Returns the seconds after which the credentials of a caller's streams are checked again; by default never. */
  checksAgainEvery?: (caller: Caller) => number;
  /** Runs before everything else (CORS, metrics). */
  middleware?: Koa.Middleware[];
  /** Returns the headers of a request that each line of its log has; undefined for none. */
  loggedHeaders?:
    | ((headers: IncomingHttpHeaders) => Record<string, string> | undefined)
    | undefined;
  /** Called once per answered request. */
  onAnswer?: (answer: Answered<Caller>) => void;
};

export type Surrounding = <T>(work: () => T) => T;

/** The largest bodies of one caller that may wait to be read. */
const MOST_WAITING = 5;

/**
 * Builds a koa application from routes: request id, access log, errors as `{detail}`, authentication, validation,
 * handler, reply.
 */
export function createApp<Caller>(options: AppOptions<Caller>): Koa {
  const app = new Koa();
  const router = new Router();
  const check = createValidator({ listItems: options.body.listItems });
  const costly = new CostlyBodies(MOST_WAITING * options.body.bytes);
  for (const route of options.routes)
    router[route.method](toKoaPath(route.path), buildEndpoint(route, { check, costly }, options));
  app.on('error', (error: Error & { code?: string }) => {
    if (!CLIENT_LEFT_CODES.includes(error.code ?? ''))
      options.log.error({ err: error }, 'answer could not be sent');
  });
  app.use(buildOuterMiddleware(options));
  // Requests of this process itself have been through the middleware, or need not go.
  for (const middleware of options.middleware ?? [])
    app.use((ctx, next) => (getInside(ctx.req) ? next() : middleware(ctx, next)));
  app.use(router.routes());
  app.use((ctx) => {
    const known = router.match(ctx.path, ctx.method);
    if (known.path.length === 0) throw new NotFound('Not Found');
    const methods = known.path.flatMap((layer) => layer.methods).join(', ');
    throw new Problem(405, 'Method Not Allowed', { headers: { allow: methods } });
  });
  return app;
}

/** These are not our failures. The client left before the answer was complete. */
const CLIENT_LEFT_CODES = ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'];

const toKoaPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** A client's request id is kept when it is short and plain, because every log line of the request carries it. */
const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/** A middleware's account of a request that it answered itself; one that it passed on is counted where it went. */
export type Elsewhere = { route: string; passedOn: boolean };

/** Builds the outermost middleware: request id, timing, and the only `catch` that turns an error into an answer. */
function buildOuterMiddleware<Caller>({
  log,
  invalid,
  onAnswer,
  loggedHeaders,
  trusts = isNeverTrusted,
}: AppOptions<Caller>): Koa.Middleware {
  return async (ctx, next) => {
    const started = performance.now();
    const given = ctx.get('x-request-id');
    const requestId = REQUEST_ID.test(given) ? given : randomUUID();
    let child: Log | undefined;
    let refusal: string | undefined;
    // The logger is made on demand, because most requests log nothing and a logger costs as much as a route.
    const headers = loggedHeaders?.(ctx.headers);
    const getLog = (): Log =>
      (child ??= log.child({
        request_id: requestId,
        ...getTraceFields(),
        ...(headers && { headers }),
      }));
    const client = resolveRequestClient(ctx.req, trusts);
    ctx.state = { requestId, log: getLog, client };
    ctx.set('x-request-id', requestId);
    try {
      await next();
    } catch (error) {
      if (isFault(error)) getLog().error({ err: error }, 'request failed');
      refusal = getRefusalReason(error);
      const reply = applyWording(
        buildErrorReply(error, invalid),
        ctx.state as { asked?: RequestState<Caller> },
      );
      ctx.set(reply.headers);
      if (!ctx.headerSent) leaveUnread(ctx.req, ctx.res);
      ctx.status = reply.status;
      ctx.body = reply.body;
    }
    const answered = {
      method: ctx.method,
      status: ctx.status,
      seconds: (performance.now() - started) / 1000,
    };
    const { asked, elsewhere } = ctx.state as {
      asked?: RequestState<Caller>;
      elsewhere?: Elsewhere;
    };
    const about = {
      route: getRouteName(ctx),
      requestId,
      source: client.source,
      headers: ctx.headers,
    };
    if (elsewhere?.passedOn !== true) onAnswer?.({ ...answered, ...about, asked, refusal });
    // Users who log headers look for their requests in the log.
    const level = headers === undefined ? 'debug' : 'info';
    if (log.isLevelEnabled(level))
      getLog()[level]({ ...answered, path: ctx.path }, 'request answered');
  };
}

function applyWording<Caller>(
  reply: ReturnType<typeof buildErrorReply>,
  { asked }: { asked?: RequestState<Caller> },
): { status: number; headers: Record<string, string>; body: unknown } {
  const reworded = asked?.route.reword?.({
    status: reply.status,
    detail: String(reply.body.detail),
  });
  return { ...reply, ...reworded };
}

function getRouteName(ctx: Koa.Context): string {
  const { asked, elsewhere } = ctx.state as {
    asked?: RequestState<unknown>;
    elsewhere?: Elsewhere;
  };
  return (
    (ctx as Partial<RouterContext>).routerPath ?? asked?.route.path ?? elsewhere?.route ?? 'none'
  );
}

function buildEndpoint<Caller>(
  route: Route<Caller>,
  { check, costly }: { check: ReturnType<typeof createValidator>; costly: CostlyBodies },
  options: AppOptions<Caller>,
): (ctx: RouterContext) => Promise<void> {
  if (
    route.access === 'open' &&
    getBodyLimit(route, options.body) > 0 &&
    route.admission === undefined
  )
    throw new StartError(
      `The route ${route.id} reads bodies of everybody, so it needs an admission.`,
    );
  const checks = {
    path: route.params && check(route.params, 'path'),
    query: route.query && check(route.query, 'query'),
    body: route.body && check(route.body, 'body'),
  };
  const streams =
    route.waits === true ||
    Object.values(route.answers).some(({ contentType }) => contentType === SSE_TYPE);
  return async (ctx) => {
    const asked: RequestState<Caller> = { route };
    (ctx.state as { asked?: RequestState<Caller> }).asked = asked;
    refuseForeign(ctx, route, options.permitsOrigin);
    const { source, forwarded } = getClient(ctx);
    const origin = { source, method: ctx.method, url: ctx.url };
    const known = getInside<Caller>(ctx.req)?.caller;
    // Known before it is refused, so that the log of the request names its caller.
    const caller = (asked.caller =
      known ?? (await options.authenticate(ctx.headers, route.access, origin)));
    options.permit?.(caller, route.access);
    refuseUnstorable(ctx.params, 'path');
    refuseUnstorable(ctx.query, 'query');
    const params = (asked.params = checks.path?.({ ...ctx.params }, 'path'));
    const query = (asked.query = checks.query?.({ ...ctx.query }, 'query'));
    const most = getBodyLimit(route, options.body);
    const bytes = most === 0 ? 0 : readAnnouncedBytes(ctx.req, most);
    const release = route.admission?.admit({ params, headers: ctx.headers, source, bytes });
    try {
      const from = { costly, caller: getCallerName(options, caller, source) };
      const again =
        known === undefined ? () => authenticateCaller(ctx, { route, origin }, options) : undefined;
      const began = performance.now();
      const body = await readBody(ctx, { route, check: checks.body, limits: options.body, from });
      // A caller who sends slowly may have lost the right meanwhile.
      if (performance.now() - began > LONG_BODY_MS) await again?.();
      const surrounded = await options.surrounding?.(ctx.headers, caller);
      const runAnswer = (): Promise<void> =>
        answer(
          ctx,
          { asked, streams, again, valid: { params, query, body, caller, source, forwarded } },
          options,
        );
      await (surrounded === undefined ? runAnswer() : surrounded(runAnswer));
    } finally {
      release?.();
    }
  };
}

/** Milliseconds of a body after which its sender is checked again before anything is done. */
const LONG_BODY_MS = 1000;

/** Returns who calls, if they still may. */
async function authenticateCaller<Caller>(
  ctx: RouterContext,
  { route, origin }: { route: Route<Caller>; origin: Origin },
  options: AppOptions<Caller>,
): Promise<Caller> {
  const caller = await options.authenticate(ctx.headers, route.access, origin);
  options.permit?.(caller, route.access);
  return caller;
}

type Valid<Caller> = Pick<
  Request<unknown, unknown, unknown, Caller>,
  'params' | 'query' | 'body' | 'caller' | 'source' | 'forwarded'
>;
type Answering<Caller> = {
  asked: RequestState<Caller>;
  streams: boolean;
  again: (() => Promise<Caller>) | undefined;
  valid: Valid<Caller>;
};

/** Calls the handler of a request whose parts are valid, and sends its reply. */
async function answer<Caller>(
  ctx: RouterContext,
  { asked, streams, again, valid }: Answering<Caller>,
  options: AppOptions<Caller>,
): Promise<void> {
  const { requestId, log } = ctx.state as { requestId: string; log: () => Log };
  const { route } = asked;
  const left = new AbortController();
  if (route.starts !== undefined) options.starts?.(valid.caller, route.starts(valid.body));
  const leave = streams ? options.opens?.(valid.caller) : undefined;
  ctx.res.once('close', () => {
    left.abort(CLIENT_LEFT);
    leave?.();
  });
  // A client that has left already leaves no second time.
  if (ctx.req.socket.destroyed) leave?.();
  const over = new AbortController();
  const isChecked =
    streams &&
    route.access !== 'open' &&
    again !== undefined &&
    options.checksAgainEvery !== undefined;
  const request: Request<unknown, unknown, unknown, Caller> = {
    ...valid,
    headers: ctx.headers,
    requestId,
    get log() {
      return log();
    },
    signal: isChecked ? AbortSignal.any([left.signal, over.signal]) : left.signal,
  };
  asked.reply = await route.handler(request);
  if (isChecked)
    asked.reply = limitReply(asked.reply, {
      again,
      over,
      every: options.checksAgainEvery!(valid.caller) * 1000,
    });
  await send(ctx, asked.reply, left.signal, options);
}

/**
 * Refuses a page that may not call. Browsers send some requests of other origins' pages without asking. That an origin
 * has the name that was asked for proves nothing: the owner of a name can have it mean this server (DNS rebinding).
 */
function refuseForeign(
  ctx: Koa.Context,
  { ownPages }: { ownPages?: boolean },
  permits: (origin: string) => boolean = () => true,
): void {
  if (ownPages !== true) return;
  const origin = ctx.get('origin');
  if (origin !== '' && !permits(origin))
    throw new Forbidden(`Pages of ${origin} may not call this server.`);
}

const getCallerName = <Caller>(
  { nameOf }: AppOptions<Caller>,
  caller: Caller,
  source: string,
): string => nameOf?.(caller) ?? source;
