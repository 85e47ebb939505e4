/** Where the page lives below whatever prefix a proxy shows. */
const ROOT = '/console';
const ASSETS = `${ROOT}/assets/`;

/** The aim of a path: the page, with the way back to its root; a file of it; or the page under its full address. */
export type PageAim =
  | { of: 'page'; base: string }
  | { of: 'asset'; name: string }
  | { of: 'redirect'; to: string };

/** Returns the aim of a path; undefined where there is nothing of the page. */
export function parsePageAim(path: string): PageAim | undefined {
  if (path === '/' || path === ROOT) return { of: 'redirect', to: 'console/' };
  if (path.startsWith(ASSETS)) return { of: 'asset', name: path.slice(ASSETS.length) };
  if (!path.startsWith(`${ROOT}/`)) return undefined;
  const depth = path.slice(ROOT.length + 1).split('/').length - 1;
  return { of: 'page', base: depth === 0 ? './' : '../'.repeat(depth) };
}

/** Returns whether a path is the page's own address, where there is no data: probes get the page there. */
export const isRoot = (path: string): boolean => path === `${ROOT}/`;

/** Returns whether a client asks for a page, and not for data. */
export const isPageRequest = (accept: string): boolean => /\btext\/html\b/i.test(accept);

/** The element of the built page whose address is that of the page's root; a formatter may write a slash at its end. */
const BASE = '<base href="./"';

/** Returns the page for a path so far below its root. */
export const setPageBase = (html: string, base: string): string =>
  html.replace(BASE, `<base href="${base}"`);

/** Returns the first of the encodings that the client takes. */
export function chooseEncoding(accepted: string, has: readonly string[]): string | undefined {
  const taken = new Map(
    accepted.split(',').map((word) => {
      const [name = '', ...parameters] = word.split(';').map((part) => part.trim().toLowerCase());
      const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
      return [name, quality === undefined ? 1 : Number(quality)];
    }),
  );
  return has.find((name) => (taken.get(name) ?? taken.get('*') ?? 0) > 0);
}
