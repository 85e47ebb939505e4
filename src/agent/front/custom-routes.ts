import type { IncomingHttpHeaders } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { toError, Problem, Unavailable } from '../../errors.ts';
import { CLIENT_LEFT } from '../../http/server/client-left.ts';
import { buildDirectClient, type Client } from '../../http/callers/client.ts';
import { getClient, listHeaderPairs, filterMessageHeaders } from '../../http/server/in-process.ts';
import type { AppOptions, Elsewhere, Origin } from '../../http/server/server.ts';
import { watchRefusal } from '../../http/routes/while-allowed.ts';
import type { Log } from '../../log.ts';
import type { GxJson } from '../../schema/agent/gx-json.ts';
import type { HeaderPairs } from '../../schema/wire/wall/exchange.ts';
import type { ForServer } from '../../schema/wire/wall/user-code.ts';
import {
  buildAccessFinder,
  buildBuiltInTest,
  buildAppRouteFinder,
  FETCH_METHODS,
} from './app-concerns.ts';
import type { CallerRequest } from '../auth/authenticate.ts';
import type { AgentCaller } from '../auth/caller.ts';
import type { Callers } from '../auth/callers.ts';
import { openToLook } from '../auth/passes.ts';
import { stripPathPrefix, buildPrefixedPath, type AskInside } from './calls-inside.ts';
import type { BodySource } from '../exchange/bodies.ts';
import type { AnswerHere, ExchangeRequest, Replied, AskedHere } from '../exchange/exchanges.ts';
import type { AgentRoute } from '../routes/route.ts';
import type { UserCode } from '../user-code/host.ts';
import type { OwnRoutes, InsideCall } from '../webhooks/own-routes.ts';

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
  checksAgainEvery: (caller: AgentCaller) => number;
  bodyBytes: number;
  log: Log;
};

type Open = {
  client: Client;
  caller: AgentCaller | undefined;
  pass: () => void;
  /** Hears who asks, and how that is checked again, as long as the answer is open. */
  watch?: (caller: AgentCaller, again: () => unknown) => void;
  /** Of an upgrade: hears its headers as the middleware has let them through. */
  upgrade?: (headers: IncomingHttpHeaders) => void;
};

/** Where a request stands in the application, and who asks, where that is known. */
type AppPath = { path: string; caller: AgentCaller | undefined };

/** A request to become a WebSocket, and the function that identifies its caller. */
type Upgrading = {
  headers: IncomingHttpHeaders;
  origin: Origin;
  callerOf: (headers: IncomingHttpHeaders) => Promise<AgentCaller> | AgentCaller;
};

/** These paths answer whatever the application does. */
const OWN = ['/ok', '/metrics', '/docs', '/openapi.json'];

const ROUTE = 'http.app';

/** Who sends requests that come from nowhere else. */
const INSIDE = buildDirectClient('this process');

/**
 * Serves `http.app` before the built-in routes. A request that concerns none of its routes, nor its middleware, never
 * gets there.
 */
export class CustomRoutes implements OwnRoutes {
  readonly #settings: Settings;
  readonly #own: ReadonlySet<string>;
  readonly #open = new Map<number, Open>();
  #concerns: ((method: string, path: string) => { serves: boolean } | undefined) | undefined;
  #accessOf: ((method: string, path: string) => AgentRoute['access'] | undefined) | undefined;
  #isBuiltIn: ((path: string) => boolean) | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#own = new Set(settings.http.disable_meta === true ? OWN.slice(0, 1) : OWN);
  }

  readonly middleware: Middleware = async (ctx, next) => {
    const concern = this.#findAppRoute(ctx.method, ctx.path);
    if (concern === undefined) return next();
    await this.#answer(ctx, concern);
  };

  /** True for a route of the application itself, whose bodies are of any type. */
  isAppRoute(method: string, url: string): boolean {
    const concern = this.#findAppRoute(method, url);
    const isUnknown = this.#settings.code.app?.routes === undefined;
    return (
      concern !== undefined &&
      concern.serves &&
      !(isUnknown && this.#findAccess(method, concern.path) !== undefined)
    );
  }

  /**
   * Returns who asks for a WebSocket, after the middleware has seen it as a GET of its path. Throws the middleware's
   * answer if it does not let the request through.
   */
  async authenticateUpgrade({ headers, origin, callerOf }: Upgrading): Promise<AgentCaller> {
    const concern = this.#findAppRoute('GET', new URL(origin.url, 'http://any').pathname);
    const isEarly = concern === undefined || this.#settings.http.middleware_order === 'auth_first';
    const caller = isEarly ? await callerOf(headers) : undefined;
    if (concern === undefined) return caller!;
    const passed = await this.#passUpgrade({ headers, origin, path: concern.path, caller });
    return caller ?? callerOf(passed);
  }

  async #passUpgrade({
    headers,
    origin,
    path,
    caller,
  }: Omit<Upgrading, 'callerOf'> & AppPath): Promise<IncomingHttpHeaders> {
    const { search } = new URL(origin.url, 'http://any');
    const pairs = Object.entries(headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const head = {
      method: 'GET',
      url: `http://${readHost({ headers })}${path}${search}`,
      headers: pairs,
    };
    let passed: IncomingHttpHeaders | undefined;
    const acceptUpgrade = (seen: IncomingHttpHeaders): unknown => (passed = seen);
    const open = {
      client: buildDirectClient(origin.source),
      caller,
      pass: () => undefined,
      upgrade: acceptUpgrade,
    };
    const { status } = await this.#fetchHead(
      { head, body: undefined, signal: new AbortController().signal },
      open,
    );
    if (passed === undefined || status >= 400)
      throw new Problem(
        status >= 400 ? status : 404,
        'http.app did not let the connection through.',
      );
    return passed;
  }

  async #fetchHead(
    asked: Omit<ExchangeRequest<unknown>, 'purpose'>,
    open: Open,
  ): Promise<Replied['head']> {
    const { code, callers } = this.#settings;
    const { client, caller } = open;
    let exchange = 0;
    const registerExchange = (number: number): void => {
      this.#open.delete(exchange);
      exchange = number;
      this.#open.set(number, open);
    };
    const leave = callers.acquireStream(caller ?? openToLook({}, client));
    const answer = await code
      .fetch(
        { ...asked, purpose: { user: caller?.guard?.user, source: client.source } },
        registerExchange,
      )
      .finally(() => {
        this.#open.delete(exchange);
        leave();
      });
    answer.body?.cancel();
    return answer.head;
  }

  /** Returns whether a webhook may call the path: a route of the application alone, which takes a POST. */
  mayBeCalled(path: string): boolean {
    const url = this.#settings.prefix + (stripPathPrefix(this.#settings.prefix, path) ?? path);
    this.#isBuiltIn ??= buildBuiltInTest(this.#settings.routes);
    return this.isAppRoute('POST', url) && !this.#isBuiltIn(url);
  }

  /** Tells the application, as somebody who shows nothing but the headers. Throws the refusal of a handler. */
  async callRoute({ url, headers, body, signal }: InsideCall): Promise<Replied['head']> {
    const { pathname, search } = new URL(url, 'http://localhost');
    const path = stripPathPrefix(this.#settings.prefix, pathname) ?? pathname;
    const asked = {
      source: INSIDE.source,
      method: 'POST',
      url: this.#settings.prefix + path + search,
      headers,
    };
    const caller = await this.#authenticateEarly(asked, { path, serves: true });
    const head = {
      method: 'POST',
      url: `http://localhost${path}${search}`,
      headers: Object.entries(headers),
    };
    return this.#fetchHead(
      { head, body: wrapBytes(body), signal },
      { client: INSIDE, caller, pass: () => undefined },
    );
  }

  #findAppRoute(method: string, url: string): { path: string; serves: boolean } | undefined {
    const path = stripPathPrefix(this.#settings.prefix, url);
    if (path === undefined || this.#own.has(path) || !FETCH_METHODS.has(method)) return undefined;
    this.#concerns ??= buildAppRouteFinder(this.#settings.code);
    const concern = this.#concerns(method, path);
    return concern && { path, serves: concern.serves };
  }

  /** From now on, requests that the application lets through, and its own requests, go to these routes. */
  passTo(inside: AskInside): void {
    this.#settings.code.serve((asked) => this.#serve(asked, inside));
  }

  async #answer(ctx: Context, { path, serves }: { path: string; serves: boolean }): Promise<void> {
    const { code, callers, callerOf, bodyBytes, log } = this.#settings;
    const client = getClient(ctx);
    const asked = { source: client.source, method: ctx.method, url: ctx.url, headers: ctx.headers };
    const caller = await this.#authenticateEarly(asked, { path, serves });
    const leave = callers.acquireStream(caller ?? openToLook(ctx.headers, client));
    const elsewhere: Elsewhere = { route: ROUTE, passedOn: false };
    (ctx.state as { elsewhere?: Elsewhere }).elsewhere = elsewhere;
    const pass = (): void => {
      elsewhere.passedOn = true;
      leave();
    };
    const left = new AbortController();
    const watch = this.#createRefusalWatch(ctx, left);
    if (caller !== undefined) watch(caller, () => callerOf(asked));
    let exchange = 0;
    ctx.res.once('close', () => {
      left.abort(CLIENT_LEFT);
      this.#open.delete(exchange);
      leave();
    });
    const body = buildLimitedBody(ctx, bodyBytes, (error) => left.abort(error));
    const head = {
      method: ctx.method,
      url: `http://${readHost(ctx)}${path}${ctx.search}`,
      headers: filterMessageHeaders(listHeaderPairs(ctx.req)),
    };
    const registerExchange = (number: number): void => {
      this.#open.delete(exchange);
      exchange = number;
      this.#open.set(number, { client, caller, pass, watch });
    };
    const answer = await code.fetch(
      {
        head,
        purpose: { user: caller?.guard?.user, source: client.source },
        body,
        signal: left.signal,
      },
      registerExchange,
    );
    send(ctx, answer, log);
  }

  /** Returns a function that ends a request, its body and its answer, once the caller's credentials are refused. */
  #createRefusalWatch(ctx: Context, left: AbortController): NonNullable<Open['watch']> {
    let unwatch: (() => void) | undefined;
    ctx.res.once('close', () => unwatch?.());
    return (caller, again) => {
      if (ctx.res.closed) return;
      unwatch?.();
      const every = this.#settings.checksAgainEvery(caller) * 1000;
      unwatch = watchRefusal({ again: async () => again(), every }, (refusal) => {
        // A client of an answer that has begun sees it break off.
        if (ctx.res.headersSent) ctx.res.destroy();
        else left.abort(refusal);
      });
    };
  }

  /** Returns the caller where it must be known before the application is asked. Throws the refusal. */
  async #authenticateEarly(
    asked: CallerRequest,
    { path, serves }: { path: string; serves: boolean },
  ): Promise<AgentCaller | undefined> {
    const { http, callerOf, code } = this.#settings;
    const access = this.#findAccess(asked.method, path);
    const guardsOwn = http.enable_custom_route_auth === true;
    // Where only the application knows its routes, nothing in it could ask before them.
    const isUnknown = code.app?.routes === undefined;
    if (http.middleware_order !== 'auth_first' && !(guardsOwn && isUnknown)) return undefined;
    const isOwn = isUnknown ? access === undefined || guardsOwn : serves;
    const isGuarded = isOwn
      ? guardsOwn && access !== 'open'
      : access !== undefined && access !== 'open';
    return isGuarded ? callerOf(asked) : undefined;
  }

  #findAccess(method: string, path: string): AgentRoute['access'] | undefined {
    this.#accessOf ??= buildAccessFinder(this.#settings.routes);
    return this.#accessOf(method, this.#settings.prefix + path);
  }

  async #serve(asked: AskedHere<ForServer>, inside: AskInside): Promise<AnswerHere> {
    const { purpose, head } = asked;
    if (purpose.want === 'call') return inside(asked);
    const open = this.#open.get(purpose.exchange);
    if (open === undefined) throw new Unavailable('The request is over.');
    const { client, caller, upgrade, watch } = open;
    if (purpose.want === 'caller') {
      const { prefix, callerOf } = this.#settings;
      const shown = {
        ...client,
        method: head.method,
        url: buildPrefixedPath(head.url, prefix),
        headers: toNodeHeaders(head.headers),
      };
      const known = await callerOf(shown);
      watch?.(known, () => callerOf(shown));
      return {
        head: { status: 200, headers: [['content-type', 'application/json']] },
        body: wrapBytes(Buffer.from(JSON.stringify(known.guard?.user ?? null))),
      };
    }
    if (upgrade !== undefined) {
      upgrade(toNodeHeaders(head.headers));
      return { head: { status: 204, headers: [] }, body: undefined };
    }
    open.pass();
    return inside(asked, { ...client, ...(caller && { caller }) });
  }
}

const readHost = ({ headers: { host = '' } }: { headers: IncomingHttpHeaders }): string =>
  URL.canParse(`http://${host}`) ? host : 'localhost';

function buildLimitedBody(
  { req, method, headers }: Context,
  limit: number,
  refuse: (error: Problem) => void,
): BodySource | undefined {
  const length = Number(headers['content-length'] ?? 0);
  if (
    method === 'GET' ||
    method === 'HEAD' ||
    (length === 0 && headers['transfer-encoding'] === undefined)
  )
    return undefined;
  const buildTooLargeProblem = (): Problem =>
    new Problem(413, `Request body is larger than ${limit} bytes`, {
      headers: { connection: 'close' },
    });
  if (length > limit) throw buildTooLargeProblem();
  const chunks = req.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
  let size = 0;
  return {
    read: async () => {
      const { value } = await chunks.next();
      size += value?.length ?? 0;
      if (size > limit) refuse(buildTooLargeProblem());
      return value;
    },
    // Node's server drops the rest of a body when the answer is sent.
    cancel: () => undefined,
  };
}

function send(ctx: Context, { head: { status, headers }, body }: Replied, log: Log): void {
  const { res } = ctx;
  ctx.respond = false;
  ctx.status = status;
  const values: Record<string, string[]> = {};
  for (const [name, value] of filterMessageHeaders(headers)) (values[name] ??= []).push(value);
  for (const [name, list] of Object.entries(values))
    if (name === 'vary') ctx.vary(list.join(', '));
    else res.setHeader(name, list.length === 1 ? list[0]! : list);
  if (body === undefined) return void res.end();
  res.flushHeaders();
  pipeline(body, res).catch((error: unknown) =>
    log.debug({ err: toError(error) }, 'an answer of http.app broke off'),
  );
}

function wrapBytes(bytes: Uint8Array): BodySource {
  const left = [bytes];
  return { read: () => Promise.resolve(left.shift()), cancel: () => undefined };
}

function toNodeHeaders(pairs: HeaderPairs): IncomingHttpHeaders {
  const headers: Record<string, string> = {};
  for (const [name, value] of pairs)
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  return headers;
}
