import type { IncomingHttpHeaders } from 'node:http';
import type Koa from 'koa';
import { getCurrentTrace, runInTrace, type TraceContext } from '../../trace-context.ts';
import type { Route } from '../routes/route.ts';

export type RequestSpan = {
  place: TraceContext;
  end(answer: { route: string; status: number }): void;
};

/** Begins the span of a request; undefined where it is not traced. */
export type BeginsSpan = (asked: {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
}) => RequestSpan | undefined;

/** Has an application answer each request within a span, so that its work and its lines of the log know their trace. */
export function addRequestSpans(app: Koa, begin: BeginsSpan): void {
  app.middleware.unshift(async (ctx, next) => {
    const span = begin({ method: ctx.method, path: ctx.path, headers: ctx.headers });
    if (span === undefined) return next();
    await runInTrace(span.place, next);
    const { asked, elsewhere } = ctx.state as {
      asked?: { route: Route<unknown> };
      elsewhere?: { route: string };
    };
    span.end({ route: asked?.route.path ?? elsewhere?.route ?? 'none', status: ctx.status });
  });
}

/** Returns the id of the trace of the work under way, as lines of the log have it. */
export function getTraceFields(): { trace_id?: string } {
  const place = getCurrentTrace();
  return place === undefined ? {} : { trace_id: place.traceId };
}
