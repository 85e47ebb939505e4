import type { AppRoute } from '../../schema/wire/wall/user-code.ts';

/** A route as Hono keeps it. Middleware is registered for all methods ('ALL'), and takes `next`. */
export type HonoRoute = {
  method: string;
  path: string;
  handler: (context: never, next: never) => unknown;
};

/** True for a handler that `use` registered for all paths below one: it runs around other routes. */
export const isMiddleware = ({ method, path, handler }: HonoRoute): boolean =>
  method === 'ALL' && path.endsWith('*') && handler.length > 1;

/** Returns the facts of the routes that the server needs. */
export const summarizeAppRoutes = (routes: readonly HonoRoute[]): AppRoute[] =>
  routes.map((route) => ({
    method: route.method,
    pattern: toRoutePattern(route.path),
    serves: !isMiddleware(route),
  }));

/**
 * Returns a regular expression that matches each path that Hono's path does, and hardly any other. Its forms are those
 * of hono.dev/docs/api/routing: `:name`, `:name?`, `:name{pattern}`, and `*`, which at the end stands for any rest.
 */
export function toRoutePattern(path: string): string {
  const segments = path.split(/\/(?![^{]*\})/).filter((segment) => segment !== '');
  const parts = segments.map((segment, at) => {
    if (segment === '*') return at === segments.length - 1 ? '(?:/.*)?' : '/[^/]+';
    const [, name, pattern, optional] = /^:([^{?]+)(?:\{(.+)\})?(\?)?$/.exec(segment) ?? [];
    if (name === undefined) return `/${escapeLiteral(segment)}`;
    return optional === undefined
      ? `/(?:${pattern ?? '[^/]+'})`
      : `(?:/(?:${pattern ?? '[^/]+'}))?`;
  });
  return `^${parts.join('')}/?$`;
}

const escapeLiteral = (text: string): string =>
  text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&').replaceAll(String.raw`\*`, '.*');

/** These are served by the server itself, whatever the application registers. */
const NEVER_REACHED = new Set(['/ok', '/metrics', '/docs', '/openapi.json']);
/** The methods of a route that takes all of them, as far as clients use them for data. */
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

type Operations = Record<string, object>;

/** Returns an OpenAPI document with the methods and paths of the routes; undefined when there are none. */
export function buildRouteDocument(
  routes: readonly HonoRoute[],
): { paths: Record<string, Operations> } | undefined {
  const paths: Record<string, Operations> = {};
  for (const { method, path } of routes.filter(isEndpoint))
    for (const { template, parameters } of buildTemplates(path).filter(
      (one) => !NEVER_REACHED.has(one.template),
    ))
      for (const name of method === 'ALL' ? METHODS : [method.toLowerCase()])
        (paths[template] ??= {})[name] = {
          summary: 'A route of http.app',
          tags: ['http.app'],
          ...(parameters.length > 0 && { parameters }),
          responses: { default: { description: 'The answer of http.app.' } },
        };
  return Object.keys(paths).length === 0 ? undefined : { paths };
}

/** Returns true for a handler that answers itself. One with `next` for all methods or paths runs around others. */
const isEndpoint = ({ method, path, handler }: HonoRoute): boolean =>
  handler.length < 2 || (method !== 'ALL' && !path.endsWith('*'));

type Template = { template: string; parameters: object[] };

/** Returns a path of Hono as OpenAPI writes it: one with an optional end is two, and a rest is a parameter. */
function buildTemplates(path: string): Template[] {
  const segments = path.split(/\/(?![^{]*\})/).filter((segment) => segment !== '');
  const isOptional = segments.at(-1)?.endsWith('?') === true;
  return [segments, ...(isOptional ? [segments.slice(0, -1)] : [])].map(buildTemplate);
}

function buildTemplate(segments: string[]): Template {
  const parameters: object[] = [];
  const addParameter = (name: string, pattern?: string): string => {
    parameters.push({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string', ...(pattern !== undefined && { pattern }) },
    });
    return `{${name}}`;
  };
  const parts = segments.map((segment) => {
    const [, name, pattern] = /^:([^{?]+)(?:\{(.+)\})?\??$/.exec(segment) ?? [];
    if (name !== undefined) return addParameter(name, pattern);
    return segment === '*'
      ? addParameter(`rest${parameters.length === 0 ? '' : parameters.length + 1}`)
      : segment;
  });
  return { template: `/${parts.join('/')}`, parameters };
}
