import type { AppRoute } from '../user-code/protocol.ts';

/** A route as Hono keeps it. Middleware is registered for all methods ('ALL'), and takes `next`. */
export type HonoRoute = { method: string; path: string; handler: (context: never, next: never) => unknown };

/** True for what `use` registered for all paths below one: it runs around other routes. */
export const isMiddleware = ({ method, path, handler }: HonoRoute): boolean => method === 'ALL' && path.endsWith('*') && handler.length > 1;

/** Returns what the server must know of the routes. */
export const appRoutes = (routes: readonly HonoRoute[]): AppRoute[] =>
  routes.map((route) => ({ method: route.method, pattern: patternOf(route.path), serves: !isMiddleware(route) }));

/**
 * Returns a regular expression that matches each path that Hono's path does, and hardly any other. Its forms are those
 * of hono.dev/docs/api/routing: `:name`, `:name?`, `:name{pattern}`, and `*`, which at the end stands for any rest.
 */
export function patternOf(path: string): string {
  const segments = path.split(/\/(?![^{]*\})/).filter((segment) => segment !== '');
  const parts = segments.map((segment, at) => {
    if (segment === '*') return at === segments.length - 1 ? '(?:/.*)?' : '/[^/]+';
    const [, name, pattern, optional] = /^:([^{?]+)(?:\{(.+)\})?(\?)?$/.exec(segment) ?? [];
    if (name === undefined) return `/${literal(segment)}`;
    return optional === undefined ? `/(?:${pattern ?? '[^/]+'})` : `(?:/(?:${pattern ?? '[^/]+'}))?`;
  });
  return `^${parts.join('')}/?$`;
}

const literal = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&').replaceAll(String.raw`\*`, '.*');
