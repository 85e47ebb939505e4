import type { Log } from '../log.ts';
import type { AttributeValue, Span } from '../schema/wire/wall/run-in-thread.ts';
import type { TraceContext } from '../trace-context.ts';

type Attributes = Record<string, AttributeValue>;

export type SpanStart = {
  kind?: 'server' | 'internal';
  /** The place below which the span is. Without one, it is the root of a trace. */
  parent?: TraceContext | undefined;
  /** The id of the trace of a root; by default, one that is made for it. */
  traceId?: string;
  attributes?: Attributes;
  /** Milliseconds since 1970; by default, now. */
  start?: number;
};

/** A piece of work under way. One that the sampler leaves out has a place, too, and is not sent. */
export type OpenSpan = {
  place: TraceContext;
  /** `name`: a better one than that of its beginning. */
  end(given?: {
    name?: string;
    attributes?: Attributes;
    error?: string | undefined;
    at?: number;
  }): void;
};

export type Tracing = {
  begin(name: string, start?: SpanStart): OpenSpan;
  /** Sends spans that were made elsewhere, of traces that are sampled. */
  add(spans: Span[]): void;
  /** How many spans arrived at the collector, and how many were given up. */
  counts: { exported: number; dropped: number };
  /** Sends everything that waits, within some seconds. */
  close(): Promise<void>;
};

export type TracedProcess = { name: string; log: Log };
