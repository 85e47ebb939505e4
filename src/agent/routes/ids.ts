import type { Request } from '../../http/routes/route.ts';
import type { AgentRoute } from './route.ts';

/*
 * Ids are the same in upper and lower case. The database returns them in lower case, and states are kept under their
 * text.
 */

const PARTS: ('params' | 'query' | 'body')[] = ['params', 'query', 'body'];

/**
 * Returns the route with the ids of its requests in lower case: those in its path, and the fields of its body that are
 * ids or lists of ids.
 */
export function wrapWithLowerIds(route: AgentRoute): AgentRoute {
  const ids = PARTS.flatMap((part) =>
    listIdFields(route[part]).map((name) => [part, name] as const),
  );
  if (ids.length === 0) return route;
  const handleRequest: AgentRoute['handler'] = (request) => {
    for (const [part, name] of ids) {
      const given = (request as Request)[part] as Record<string, unknown>;
      given[name] = toLowerIds(given[name]);
    }
    return route.handler(request);
  };
  return { ...route, handler: handleRequest };
}

function listIdFields(schema: unknown): string[] {
  const { properties: fields = {} } = (schema ?? {}) as {
    properties?: Record<string, { format?: string; items?: { format?: string } } | undefined>;
  };
  return Object.entries(fields).flatMap(([name, field]) =>
    field?.format === 'uuid' || field?.items?.format === 'uuid' ? [name] : [],
  );
}

function toLowerIds(value: unknown): unknown {
  if (typeof value === 'string') return value.toLowerCase();
  return Array.isArray(value) ? value.map(toLowerIds) : value;
}
