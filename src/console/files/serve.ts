import { NotFound, Problem } from '../../errors.ts';
import type { AppOptions, Elsewhere } from '../../http/server/server.ts';
import { PAGE_HEADERS } from '../../http/routes/page-headers.ts';
import { buildFileEtag, type BuiltFile, type BuiltPage } from './built-files.ts';
import { chooseEncoding, parsePageAim, isRoot, isPageRequest, setPageBase } from './place.ts';

type Middleware = NonNullable<AppOptions<undefined>['middleware']>[number];
type Context = Parameters<Middleware>[0];

/** A name has the hash of its content, so that a browser never asks for the same one again. */
const FOREVER = 'public, max-age=31536000, immutable';
const NOT_BUILT = 'The page of the console is not built. `node dev/console/build.ts` builds it.';

/**
 * Serves the page for every path below `/console/` at which a browser looks for a page, and its files. Anything else is
 * not found: a file that is lost must not come as a page. Without a built page, it says how to build one.
 */
export function buildPageHandler(page: BuiltPage | undefined): Middleware {
  return async (ctx, next) => {
    const place = parsePageAim(ctx.path);
    if (place === undefined || !['GET', 'HEAD'].includes(ctx.method)) return next();
    const isPage =
      place.of !== 'page' ||
      isRoot(ctx.path) ||
      (isPageRequest(ctx.get('accept')) && ctx.path !== '/console/session');
    if (!isPage) return next();
    (ctx.state as { elsewhere?: Elsewhere }).elsewhere = {
      route: place.of === 'asset' ? '/console/assets' : '/console/',
      passedOn: false,
    };
    if (place.of === 'redirect') return sendRedirect(ctx, place.to);
    if (page === undefined) throw new Problem(503, NOT_BUILT);
    if (place.of === 'asset') serveAsset(ctx, page.assets.get(place.name));
    else servePage(ctx, setPageBase(page.html, place.base));
  };
}

/** The address is relative, because only the browser knows the prefix that a proxy shows. */
function sendRedirect(ctx: Context, to: string): void {
  ctx.status = 302;
  ctx.set('location', to);
  ctx.body = '';
}

function servePage(ctx: Context, html: string): void {
  ctx.set({ ...PAGE_HEADERS, etag: buildFileEtag(html) });
  ctx.type = 'text/html; charset=utf-8';
  ctx.status = 200;
  if (ctx.fresh) ctx.status = 304;
  else ctx.body = html;
}

function serveAsset(ctx: Context, file: BuiltFile | undefined): void {
  if (file === undefined) throw new NotFound('Not Found');
  const { type, etag, encoded, identity } = file;
  const encoding = chooseEncoding(
    ctx.get('accept-encoding'),
    ['br', 'gzip'].filter((name) => name in encoded),
  ) as keyof typeof encoded | undefined;
  ctx.set({
    'cache-control': FOREVER,
    etag: encoding === undefined ? etag : etag.replace(/"$/, `-${encoding}"`),
    vary: 'accept-encoding',
  });
  if (encoding !== undefined) ctx.set('content-encoding', encoding);
  ctx.set('content-type', type);
  ctx.status = 200;
  if (ctx.fresh) ctx.status = 304;
  else ctx.body = encoding === undefined ? identity : encoded[encoding];
}
