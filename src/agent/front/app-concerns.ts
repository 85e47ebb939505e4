import { buildPathMatcher } from '../../http/routes/path-matcher.ts';
import type { AgentRoute } from '../routes/route.ts';
import type { UserCode } from '../user-code/host.ts';

/* This file tells which requests concern `http.app`, and which the built-in routes. */

/** The Fetch standard knows no other methods, or refuses them. */
export const FETCH_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);

/** Returns a test of whether a request concerns the application. Paths are compared decoded, as Hono does. */
export function buildAppRouteFinder({
  app,
}: UserCode): (method: string, path: string) => { serves: boolean } | undefined {
  if (app?.routes === undefined) return () => ({ serves: true });
  const routes = app.routes.map(({ method, pattern, serves }) => ({
    method,
    pattern: new RegExp(pattern),
    serves,
  }));
  return (method, path) => {
    const [asked, plain] = [method === 'HEAD' ? 'GET' : method, decodePath(path)];
    const found = routes.filter(
      (route) => (route.method === 'ALL' || route.method === asked) && route.pattern.test(plain),
    );
    return found.length === 0 ? undefined : { serves: found.some(({ serves }) => serves) };
  };
}

function decodePath(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** Returns a function from a request to the access of its built-in route; undefined where there is none. */
export function buildAccessFinder(
  routes: readonly AgentRoute[],
): (method: string, path: string) => AgentRoute['access'] | undefined {
  const known = routes.map(({ method, path, access }) => ({
    method: method.toUpperCase(),
    matches: buildPathMatcher(path),
    access,
  }));
  return (method, path) => {
    const asked = method === 'HEAD' ? 'GET' : method;
    return known.find((route) => route.method === asked && route.matches(path) !== undefined)
      ?.access;
  };
}

/** Returns a test of whether a path is that of a built-in route, for any method. */
export function buildBuiltInTest(routes: readonly AgentRoute[]): (path: string) => boolean {
  const known = routes.map(({ path }) => buildPathMatcher(path));
  return (path) => known.some((matches) => matches(path) !== undefined);
}
