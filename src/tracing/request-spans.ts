import type { BeginsSpan } from '../http/server/request-spans.ts';
import { readTraceContext } from '../trace-context.ts';
import type { Tracing } from './spans.ts';

/** Paths that monitors ask all the time. */
const MONITORED = /\/(metrics|healthz|readyz|ok)$/;

/**
 * Returns a maker of spans of requests. A request that names its place in a trace goes on with it. Others begin a trace
 * if there are to be `roots`.
 */
export const buildSpanStarter =
  (tracing: Tracing, { roots }: { roots: boolean }): BeginsSpan =>
  ({ method, path, headers }) => {
    const parent = readTraceContext(headers);
    if (parent === undefined && (!roots || MONITORED.test(path))) return undefined;
    const span = tracing.begin(method, {
      kind: 'server',
      parent,
      attributes: { 'http.request.method': method, 'url.path': path },
    });
    return {
      place: span.place,
      end: ({ route, status }) =>
        span.end({
          name: `${method} ${route}`,
          attributes: { 'http.route': route, 'http.response.status_code': status },
          ...(status >= 500 && { error: `The answer is ${status}.` }),
        }),
    };
  };
