import type { IncomingHttpHeaders } from 'node:http';
import { Forbidden } from '../../errors.ts';
import type { FromPage } from '../../http/callers/client.ts';
import { getClient } from '../../http/server/in-process.ts';
import type { AppOptions } from '../../http/server/server.ts';
import type { Cors as Settings } from '../../schema/agent/gx-json.ts';
import type { AgentCaller } from '../auth/caller.ts';

type Middleware = NonNullable<AppOptions<AgentCaller>['middleware']>[number];

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const EXPOSED = [
  'content-location',
  'location',
  'x-pagination-total',
  'x-pagination-next',
  'x-pagination-cursor',
];

/**
 * Lets pages of other origins call the server: any origin, unless gx.json lists some. Only listed ones may send
 * credentials.
 */
export function buildCorsMiddleware(
  settings: Settings,
  { privateNetwork }: { privateNetwork: boolean },
): Middleware {
  const permits = buildOriginResolver(settings);
  return async (ctx, next) => {
    const origin = ctx.get('origin');
    if (origin === '') return next();
    const permit = permits(origin);
    if (permit !== '*') ctx.vary('Origin');
    if (permit !== undefined) ctx.set(answerHeaders(settings, permit));
    if (ctx.method !== 'OPTIONS' || ctx.get('access-control-request-method') === '') return next();
    ctx.set(buildPreflightHeaders(settings, ctx.get('access-control-request-headers')));
    // A browser also asks for this when the page is on a public site and the server is not.
    if (privateNetwork && ctx.get('access-control-request-private-network') === 'true')
      ctx.set('access-control-allow-private-network', 'true');
    ctx.status = 204;
  };
}

/** Returns a check whether pages of an origin may connect by WebSocket, which browsers let any page try. */
export function buildOriginCheck(settings: Settings): (origin: string) => boolean {
  const permits = buildOriginResolver(settings);
  return (origin) => permits(origin) !== undefined;
}

/** Returns a check whether the settings name an origin. An asterisk names nobody. */
function buildNamedOriginTest({
  allow_origins = [],
  allow_origin_regex,
}: Settings): (origin: string) => boolean {
  const pattern =
    allow_origin_regex === undefined ? undefined : new RegExp(`^(?:${allow_origin_regex})$`);
  return (origin) => allow_origins.includes(origin) || pattern?.test(origin) === true;
}

/** Returns a function that gives the answer to an origin: `*`, its own name, or nothing. */
function buildOriginResolver(settings: Settings): (origin: string) => string | undefined {
  const { allow_origin_regex } = settings;
  // A pattern alone permits the origins that match it, and no other one.
  const allow_origins = settings.allow_origins ?? (allow_origin_regex === undefined ? ['*'] : []);
  const permitsAny = allow_origins.includes('*');
  if (allow_origin_regex === undefined && permitsAny) return () => '*';
  const isNamed = buildNamedOriginTest(settings);
  return (origin) => (permitsAny || isNamed(origin) ? origin : undefined);
}

/**
 * Returns a check whether a request brings a visitor's cookies from a page of another origin that the settings do not
 * name. The visitor has not asked for such a request, so it must not act in the visitor's name.
 */
export function buildForeignCookieTest(settings: Settings): (request: FromPage) => boolean {
  const isNamed = buildNamedOriginTest(settings);
  return ({ headers, forwarded }) => {
    const { origin, cookie } = headers;
    return (
      cookie !== undefined &&
      origin !== undefined &&
      !isNamed(origin) &&
      !isOwnPage(origin, headers, forwarded.host)
    );
  };
}

/**
 * Returns true for a page of this server, also behind a trusted proxy that changes `Host` and tells the one that was
 * asked. No page can forge these headers: browsers set them themselves.
 */
function isOwnPage(
  origin: string,
  { host, ...headers }: IncomingHttpHeaders,
  forwardedHost: string | undefined,
): boolean {
  if (headers['sec-fetch-site'] === 'same-origin') return true;
  const hosts = [host, forwardedHost].map((name) => name?.toLowerCase());
  return URL.canParse(origin) && hosts.includes(new URL(origin).host);
}

/** Refuses requests with cookies from foreign pages. `decidesItself`: routes of the user's own, which may take them. */
export function refuseForeignCookies(
  settings: Settings,
  decidesItself: (method: string, path: string) => boolean,
): Middleware {
  const isForeign = buildForeignCookieTest(settings);
  return (ctx, next) => {
    if (
      isForeign({ headers: ctx.headers, ...getClient(ctx) }) &&
      !decidesItself(ctx.method, ctx.path)
    )
      throw new Forbidden(
        `Pages of ${ctx.get('origin')} may not send cookies to this server: name them in http.cors.allow_origins of gx.json, or call without credentials.`,
      );
    return next();
  };
}

const answerHeaders = (settings: Settings, permit: string): Record<string, string> => ({
  'access-control-allow-origin': permit,
  'access-control-expose-headers': (settings.expose_headers ?? EXPOSED).join(', '),
  ...(settings.allow_credentials === true &&
    permit !== '*' && { 'access-control-allow-credentials': 'true' }),
});

/** Headers that pages may send, whatever the settings list: the one that makes a repetition harmless. */
const ALWAYS_ALLOWED = 'idempotency-key';

const buildPreflightHeaders = (settings: Settings, asked: string): Record<string, string> => ({
  'access-control-allow-methods': (settings.allow_methods ?? METHODS).join(', '),
  'access-control-allow-headers':
    settings.allow_headers === undefined
      ? asked || '*'
      : [...settings.allow_headers, ALWAYS_ALLOWED].join(', '),
  'access-control-max-age': String(settings.max_age ?? 600),
});
