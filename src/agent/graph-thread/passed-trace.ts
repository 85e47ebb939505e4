import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons';
import type { RunSpec } from '../../schema/wire/wall/run-in-thread.ts';

/*
 * Requests that a graph makes carry its place in a trace, so that the trace goes on in other services: those by `fetch`
 * or undici, by `node:http`, and those to the graph's own server. Node.js tells of each before it is sent.
 */

type TraceHeaders = NonNullable<RunSpec['passed_on']>;
/** `spanOf` returns the span of a call of the graph; it is undefined where the run has no spans. */
type TracedRun = {
  headers: TraceHeaders;
  spanOf: ((callId: string) => string | undefined) | undefined;
};

export type TracePassing = {
  /** Carries out the work of a run; the requests of one without headers are left as they are. */
  during: <T>(
    run: { headers: TraceHeaders | undefined; spanOf: TracedRun['spanOf'] },
    work: () => Promise<T>,
  ) => Promise<T>;
  headersNow: () => Partial<TraceHeaders>;
};

const PARENT = 'traceparent';

export function passTraces(): TracePassing {
  const runs = new AsyncLocalStorage<TracedRun>();
  const readHeaders = (): Partial<TraceHeaders> => {
    const run = runs.getStore();
    return run === undefined ? {} : buildSpanHeaders(run.headers, run.spanOf?.(callNow()));
  };
  let isServed = false;
  const serve = (): void => {
    if (isServed) return;
    isServed = true;
    subscribe('undici:request:create', (message) =>
      addToFetch((message as { request: FetchRequest }).request, readHeaders()),
    );
    subscribe('http.client.request.created', (message) =>
      addToRequest((message as { request: NodeRequest }).request, readHeaders()),
    );
  };
  return {
    headersNow: readHeaders,
    during: ({ headers, spanOf }, work) => {
      if (headers === undefined) return work();
      serve();
      return runs.run({ headers, spanOf }, work);
    },
  };
}

/** Returns the headers below a span of the graph; without one, those of the run's own span. */
function buildSpanHeaders(headers: TraceHeaders, spanId: string | undefined): TraceHeaders {
  if (spanId === undefined) return headers;
  return { ...headers, traceparent: headers.traceparent.split('-').with(2, spanId).join('-') };
}

/** Returns the id of the call of a node or a tool under way, as LangChain's callbacks name it. */
function callNow(): string {
  const config = AsyncLocalStorageProviderSingleton.getRunnableConfig() as
    | { callbacks?: { getParentRunId?: () => string } }
    | undefined;
  return config?.callbacks?.getParentRunId?.() ?? '';
}

/** A request of undici. `headers` are names and values in turn; those of its version 5 are lines. */
type FetchRequest = { headers?: unknown; addHeader?: (name: string, value: string) => void };
type NodeRequest = {
  headersSent: boolean;
  hasHeader(name: string): boolean;
  setHeader(name: string, value: string): void;
};

/** Adds headers to a request unless it has its own, as one of a graph that brings OpenTelemetry itself. */
function addToFetch(request: FetchRequest, headers: Partial<TraceHeaders>): void {
  if (hasParent(request.headers)) return;
  for (const [name, value] of Object.entries(headers)) request.addHeader?.(name, value);
}

const hasParent = (headers: unknown): boolean =>
  Array.isArray(headers)
    ? headers.some((one, at) => at % 2 === 0 && String(one).toLowerCase() === PARENT)
    : typeof headers === 'string' && /^traceparent:/im.test(headers);

/** Does so with a request whose headers are still open: given as a list, they are already written. */
function addToRequest(request: NodeRequest, headers: Partial<TraceHeaders>): void {
  if (request.headersSent || request.hasHeader(PARENT)) return;
  for (const [name, value] of Object.entries(headers)) request.setHeader(name, value);
}
