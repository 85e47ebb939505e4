import { Forbidden, Problem } from '../../errors.ts';
import { isLoopbackName } from '../../http/outgoing/loopback.ts';
import type { AppOptions } from '../../http/server/server.ts';
import type { Cors } from '../../schema/agent/gx-json.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { buildOriginCheck } from './cors.ts';

/**
 * Whose pages may call a server on a developer's machine, unless its configuration names others: pages of this machine
 * and Studio. Any page of the web reaches such a server, and it has no keys.
 */
export const LOCAL_CORS: Cors = {
  allow_origin_regex: String.raw`https?://(localhost|[\w-]+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?|https://([a-z0-9-]+\.)?smith\.langchain\.com`,
};

/** An origin that nobody names; a pattern that fits it fits all. */
const NOBODY = 'https://b8f3c5.nobody.invalid';

/**
 * Returns whose pages may call a server on a developer's machine: those that the settings name. There, an asterisk, a
 * pattern for all, or no name at all mean the pages of LOCAL_CORS, because every page of the web reaches that server.
 */
export function buildLocalCors(settings: Cors): Cors {
  const { allow_origins: listed, allow_origin_regex: pattern, ...rest } = settings;
  const named = (listed ?? []).filter((origin) => origin !== '*');
  const patternMeansAll =
    pattern !== undefined && buildOriginCheck({ allow_origin_regex: pattern })(NOBODY);
  const meansAll = buildOriginCheck(settings)(NOBODY);
  if (!meansAll) return settings;
  const patterns = [
    ...(pattern === undefined || patternMeansAll ? [] : [pattern]),
    LOCAL_CORS.allow_origin_regex!,
  ];
  return {
    ...rest,
    allow_origins: named,
    allow_origin_regex: patterns.map((one) => `(?:${one})`).join('|'),
  };
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i;

/** The values that a browser sends for a request that no other page has made; programs send none (Fetch Metadata). */
const OWN_SITES = new Set(['', 'none', 'same-origin']);

const isOriginHidden = (origin: string, site: string): boolean =>
  origin === '' && !OWN_SITES.has(site);

/**
 * Refuses requests that only a forbidden page could have sent: another host's name for this machine (DNS rebinding), a
 * foreign origin, and a body that a browser sends anywhere without asking, because it does not say that it is JSON.
 */
export function buildLocalPageGuard(
  settings: Cors,
  {
    loopback,
    takesAnyBody = () => false,
  }: {
    loopback: boolean;
    /** True for routes of the user's own, which take forms and files, too. */
    takesAnyBody?: (method: string, path: string) => boolean;
  },
): NonNullable<AppOptions<AgentCaller>['middleware']>[number] {
  const permits = buildOriginCheck(settings);
  return async (ctx, next) => {
    if (
      loopback &&
      !isLoopbackName(ctx.hostname.includes(':') ? `[${ctx.hostname}]` : ctx.hostname)
    )
      throw new Forbidden(
        'This server answers under localhost and 127.0.0.1 only; start it with --host to serve others.',
      );
    const origin = ctx.get('origin');
    if (origin !== '' && !permits(origin) && !isOwn(origin, ctx.host))
      throw new Forbidden(
        `Pages of ${origin} may not call this server: name them in http.cors of gx.json.`,
      );
    const hasBody =
      ctx.get('transfer-encoding') !== '' || Number(ctx.get('content-length') || 0) > 0;
    const isBodyAccepted = (): boolean =>
      !isOriginHidden(origin, ctx.get('sec-fetch-site')) && takesAnyBody(ctx.method, ctx.path);
    if (hasBody && !JSON_TYPE.test(ctx.get('content-type')) && !isBodyAccepted())
      throw new Problem(415, 'The body must be sent with Content-Type: application/json', {
        headers: { connection: 'close' },
      });
    return next();
  };
}

/** Returns true for a page that this server itself has served. */
const isOwn = (origin: string, host: string): boolean =>
  URL.canParse(origin) && new URL(origin).host === host;
