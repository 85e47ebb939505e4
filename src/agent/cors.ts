import type { AppOptions } from '../http/server.ts';
import type { Cors as Settings } from '../schema/gx-json.ts';
import type { AgentCaller } from './auth/caller.ts';

type Middleware = NonNullable<AppOptions<AgentCaller>['middleware']>[number];

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const EXPOSED = ['content-location', 'location', 'x-pagination-total', 'x-pagination-next'];

/**
 * Lets pages of other origins call the server: any origin, unless gx.json lists some. Only listed ones may send
 * credentials.
 */
export function cors(settings: Settings, { privateNetwork }: { privateNetwork: boolean }): Middleware {
  const permits = permitted(settings);
  return async (ctx, next) => {
    const origin = ctx.get('origin');
    if (origin === '') return next();
    const permit = permits(origin);
    if (permit !== '*') ctx.vary('Origin');
    if (permit !== undefined) ctx.set(answerHeaders(settings, permit));
    if (ctx.method !== 'OPTIONS' || ctx.get('access-control-request-method') === '') return next();
    ctx.set(preflightHeaders(settings, ctx.get('access-control-request-headers')));
    // A browser also asks for this when the page is on a public site and the server is not.
    if (privateNetwork && ctx.get('access-control-request-private-network') === 'true')
      ctx.set('access-control-allow-private-network', 'true');
    ctx.status = 204;
  };
}

/** Returns a check whether pages of an origin may connect by WebSocket, which browsers let any page try. */
export function permitsOrigin(settings: Settings): (origin: string) => boolean {
  const permits = permitted(settings);
  return (origin) => permits(origin) !== undefined;
}

/** Returns a function that gives the answer to an origin: `*`, its own name, or nothing. */
function permitted({ allow_origin_regex, ...settings }: Settings): (origin: string) => string | undefined {
  // A pattern alone permits what fits it, and not any origin beside that.
  const allow_origins = settings.allow_origins ?? (allow_origin_regex === undefined ? ['*'] : []);
  const pattern = allow_origin_regex === undefined ? undefined : new RegExp(`^(?:${allow_origin_regex})$`);
  if (pattern === undefined && allow_origins.includes('*')) return () => '*';
  return (origin) => (allow_origins.includes('*') || allow_origins.includes(origin) || pattern?.test(origin) === true ? origin : undefined);
}

const answerHeaders = (settings: Settings, permit: string): Record<string, string> => ({
  'access-control-allow-origin': permit,
  'access-control-expose-headers': (settings.expose_headers ?? EXPOSED).join(', '),
  ...(settings.allow_credentials === true && permit !== '*' && { 'access-control-allow-credentials': 'true' }),
});

const preflightHeaders = (settings: Settings, asked: string): Record<string, string> => ({
  'access-control-allow-methods': (settings.allow_methods ?? METHODS).join(', '),
  'access-control-allow-headers': settings.allow_headers?.join(', ') ?? (asked || '*'),
  'access-control-max-age': String(settings.max_age ?? 600),
});
