import type { AppOptions } from '../http/server.ts';
import type { GxJson } from '../schema/gx-json.ts';
import type { Caller } from './routes/route.ts';

type Middleware = NonNullable<AppOptions<Caller>['middleware']>[number];
type Settings = NonNullable<NonNullable<GxJson['http']>['cors']>;

const EXPOSED = ['content-location', 'location', 'x-pagination-total', 'x-pagination-next'];

/** Lets pages of other origins call: any, unless gx.json lists them. Credentials are allowed only to listed ones. */
export function cors(settings: Settings = {}): Middleware {
  const listed = settings.allow_origins ?? ['*'];
  const pattern = settings.allow_origin_regex === undefined ? undefined : new RegExp(`^(?:${settings.allow_origin_regex})$`);
  const anyOrigin = listed.includes('*') && pattern === undefined;
  const allowed = (origin: string): boolean => listed.includes('*') || listed.includes(origin) || pattern?.test(origin) === true;
  return async (ctx, next) => {
    const origin = ctx.get('origin');
    if (origin === '') return next();
    if (!anyOrigin) ctx.vary('Origin');
    if (allowed(origin)) {
      ctx.set('access-control-allow-origin', anyOrigin ? '*' : origin);
      ctx.set('access-control-expose-headers', (settings.expose_headers ?? EXPOSED).join(', '));
      if (settings.allow_credentials === true && !anyOrigin) ctx.set('access-control-allow-credentials', 'true');
    }
    if (ctx.method !== 'OPTIONS' || ctx.get('access-control-request-method') === '') return next();
    ctx.set('access-control-allow-methods', (settings.allow_methods ?? ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).join(', '));
    ctx.set('access-control-allow-headers', settings.allow_headers?.join(', ') ?? (ctx.get('access-control-request-headers') || '*'));
    ctx.set('access-control-max-age', String(settings.max_age ?? 600));
    ctx.status = 204;
  };
}
