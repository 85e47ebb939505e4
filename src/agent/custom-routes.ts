import type { IncomingHttpHeaders } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { asError, Problem, Unavailable } from '../errors.ts';
import { headerPairs, ofMessage } from '../http/in-process.ts';
import { pathMatcher } from '../http/path-matcher.ts';
import { sourceOf, type AppOptions, type Elsewhere } from '../http/server.ts';
import type { Log } from '../log.ts';
import type { GxJson } from '../schema/gx-json.ts';
import { openToAll, type CallerRequest } from './auth/authenticate.ts';
import type { AgentCaller } from './auth/caller.ts';
import type { Callers } from './callers.ts';
import { pathBelow, pathIn, type AskInside } from './calls-inside.ts';
import type { BodySource } from './exchange/bodies.ts';
import type { AnswerHere, Replied, AskedHere } from './exchange/exchanges.ts';
import type { HeaderPairs } from './exchange/messages.ts';
import type { AgentRoute } from './routes/route.ts';
import type { UserCode } from './user-code/host.ts';
import type { ForServer } from './user-code/protocol.ts';

type Middleware = NonNullable<AppOptions<AgentCaller>['middleware']>[number];
type Context = Parameters<Middleware>[0];

type Settings = {
  code: UserCode;
  http: NonNullable<GxJson['http']>;
  prefix: string;
  /** The built-in routes; they are complete when the first request comes. */
  routes: readonly AgentRoute[];
  callerOf: (request: CallerRequest) => Promise<AgentCaller> | AgentCaller;
  callers: Callers;
  bodyBytes: number;
  log: Log;
};

/** A request that the application has. */
type Open = { source: string; caller: AgentCaller | undefined; pass: () => void };

/** These paths answer whatever the application does. */
const OWN = ['/ok', '/metrics', '/docs', '/openapi.json'];

/** The Fetch standard knows no other methods, or refuses them. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const ROUTE = 'http.app';

/**
 * Serves `http.app` before the built-in routes. A request that concerns none of its routes, nor its middleware, never
 * gets there.
 */
export class CustomRoutes {
  readonly #settings: Settings;
  readonly #own: ReadonlySet<string>;
  readonly #open = new Map<number, Open>();
  #concerns: ((method: string, path: string) => { serves: boolean } | undefined) | undefined;
  #accessOf: ((method: string, path: string) => AgentRoute['access'] | undefined) | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#own = new Set(settings.http.disable_meta === true ? OWN.slice(0, 1) : OWN);
  }

  readonly middleware: Middleware = async (ctx, next) => {
    const path = pathBelow(this.#settings.prefix, ctx.path);
    if (path === undefined || this.#own.has(path) || !METHODS.has(ctx.method)) return next();
    this.#concerns ??= concernOf(this.#settings.code);
    const concern = this.#concerns(ctx.method, path);
    if (concern === undefined) return next();
    await this.#answer(ctx, { path, serves: concern.serves });
  };

  /** From now on, what the application lets through, and what it asks by itself, goes to these routes. */
  passTo(inside: AskInside): void {
    this.#settings.code.serve((asked) => this.#serve(asked, inside));
  }

  async #answer(ctx: Context, { path, serves }: { path: string; serves: boolean }): Promise<void> {
    const { code, callers, bodyBytes, log } = this.#settings;
    const source = sourceOf(ctx.req);
    const caller = await this.#callerBefore(ctx, { path, serves });
    const leave = callers.opens(caller ?? openToAll({ source }));
    const elsewhere: Elsewhere = { route: ROUTE, passedOn: false };
    (ctx.state as { elsewhere?: Elsewhere }).elsewhere = elsewhere;
    const pass = (): void => {
      elsewhere.passedOn = true;
      leave();
    };
    const left = new AbortController();
    let exchange = 0;
    ctx.res.once('close', () => {
      left.abort(LEFT);
      this.#open.delete(exchange);
      leave();
    });
    const body = bodyOf(ctx, bodyBytes, (error) => left.abort(error));
    const head = { method: ctx.method, url: `http://${hostOf(ctx)}${path}${ctx.search}`, headers: ofMessage(headerPairs(ctx.req)) };
    const begins = (number: number): void => {
      this.#open.delete(exchange);
      exchange = number;
      this.#open.set(number, { source, caller, pass });
    };
    const answer = await code.fetch({ head, purpose: { user: caller?.guard?.user }, body, signal: left.signal }, begins);
    send(ctx, answer, log);
  }

  /** Returns the caller where it must be known before the application is asked. Throws the refusal. */
  async #callerBefore(ctx: Context, { path, serves }: { path: string; serves: boolean }): Promise<AgentCaller | undefined> {
    const { http, callerOf, code } = this.#settings;
    const access = this.#access(ctx.method, path);
    const guardsOwn = http.enable_custom_route_auth === true;
    // Where only the application knows its routes, nothing in it could ask before them.
    const isUnknown = code.app?.routes === undefined;
    if (http.middleware_order !== 'auth_first' && !(guardsOwn && isUnknown)) return undefined;
    const isOwn = isUnknown ? access === undefined || guardsOwn : serves;
    const isGuarded = isOwn ? guardsOwn && access !== 'open' : access !== undefined && access !== 'open';
    return isGuarded ? callerOf({ source: sourceOf(ctx.req), method: ctx.method, url: ctx.url, headers: ctx.headers }) : undefined;
  }

  #access(method: string, path: string): AgentRoute['access'] | undefined {
    this.#accessOf ??= accessOf(this.#settings.routes);
    return this.#accessOf(method, this.#settings.prefix + path);
  }

  async #serve(asked: AskedHere<ForServer>, inside: AskInside): Promise<AnswerHere> {
    const { purpose, head } = asked;
    if (purpose.want === 'call') return inside(asked);
    const open = this.#open.get(purpose.exchange);
    if (open === undefined) throw new Unavailable('The request is over.');
    const { source, caller } = open;
    if (purpose.want === 'caller') {
      const { prefix, callerOf } = this.#settings;
      const known = await callerOf({ source, method: head.method, url: pathIn(head.url, prefix), headers: headersOf(head.headers) });
      return jsonAnswer(known.guard?.user ?? null);
    }
    open.pass();
    return inside(asked, { source, ...(caller && { caller }) });
  }
}

/** The reason is made once, because an abort without one would cost an exception with its stack. */
const LEFT = Object.assign(new Unavailable('The client has left.'), { name: 'AbortError' });

const hostOf = ({ headers: { host = '' } }: Context): string => (URL.canParse(`http://${host}`) ? host : 'localhost');

/** Returns what tells whether a request concerns the application. Paths are compared decoded, as Hono does. */
function concernOf({ app }: UserCode): (method: string, path: string) => { serves: boolean } | undefined {
  if (app?.routes === undefined) return () => ({ serves: true });
  const routes = app.routes.map(({ method, pattern, serves }) => ({ method, pattern: new RegExp(pattern), serves }));
  return (method, path) => {
    const [asked, plain] = [method === 'HEAD' ? 'GET' : method, decoded(path)];
    const found = routes.filter((route) => (route.method === 'ALL' || route.method === asked) && route.pattern.test(plain));
    return found.length === 0 ? undefined : { serves: found.some(({ serves }) => serves) };
  };
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function accessOf(routes: readonly AgentRoute[]): (method: string, path: string) => AgentRoute['access'] | undefined {
  const known = routes.map(({ method, path, access }) => ({ method: method.toUpperCase(), matches: pathMatcher(path), access }));
  return (method, path) => {
    const asked = method === 'HEAD' ? 'GET' : method;
    return known.find((route) => route.method === asked && route.matches(path) !== undefined)?.access;
  };
}

/** Returns the body of a request, as long as it is not too large. */
function bodyOf({ req, method, headers }: Context, limit: number, refuse: (error: Problem) => void): BodySource | undefined {
  const length = Number(headers['content-length'] ?? 0);
  if (method === 'GET' || method === 'HEAD' || (length === 0 && headers['transfer-encoding'] === undefined)) return undefined;
  const tooLarge = (): Problem => new Problem(413, `Request body is larger than ${limit} bytes`, { headers: { connection: 'close' } });
  if (length > limit) throw tooLarge();
  const chunks = req.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
  let size = 0;
  return {
    read: async () => {
      const { value } = await chunks.next();
      size += value?.length ?? 0;
      if (size > limit) refuse(tooLarge());
      return value;
    },
    // Node's server drops what is left of a body when the answer is sent.
    cancel: () => undefined,
  };
}

/** Sends the application's answer, as it comes. */
function send(ctx: Context, { head: { status, headers }, body }: Replied, log: Log): void {
  const { res } = ctx;
  ctx.respond = false;
  ctx.status = status;
  const values: Record<string, string[]> = {};
  for (const [name, value] of ofMessage(headers)) (values[name] ??= []).push(value);
  for (const [name, list] of Object.entries(values))
    if (name === 'vary') ctx.vary(list.join(', '));
    else res.setHeader(name, list.length === 1 ? list[0]! : list);
  if (body === undefined) {
    res.end();
    return;
  }
  res.flushHeaders();
  pipeline(body, res).catch((error: unknown) => log.debug({ err: asError(error) }, 'an answer of http.app broke off'));
}

function jsonAnswer(value: unknown): AnswerHere {
  const bytes = [Buffer.from(JSON.stringify(value))];
  return {
    head: { status: 200, headers: [['content-type', 'application/json']] },
    body: { read: () => Promise.resolve(bytes.shift()), cancel: () => undefined },
  };
}

/** Returns the headers as Node's server gives them. */
function headersOf(pairs: HeaderPairs): IncomingHttpHeaders {
  const headers: Record<string, string> = {};
  for (const [name, value] of pairs) headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  return headers;
}
