import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type HrTime,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type ReadableSpan,
  type Sampler,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import type { SamplerSettings, TracingSettings } from '../config/tracing.ts';
import type { Span } from '../schema/wire/wall/run-in-thread.ts';
import type { TraceContext } from '../trace-context.ts';
import { OtlpExporter } from './exporter.ts';
import type { OpenSpan, SpanStart, TracedProcess, Tracing } from './spans.ts';

/* OpenTelemetry's own packages make spans, decide which are sent, and write them. Nothing else imports this file. */

const SERIALIZERS = { 'http/protobuf': ProtobufTraceSerializer, 'http/json': JsonTraceSerializer };
const TYPES = { 'http/protobuf': 'application/x-protobuf', 'http/json': 'application/json' };
const KINDS = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL };

type Shared = Pick<ReadableSpan, 'resource' | 'instrumentationScope'>;

/** Sends spans by the protocol, and with the sampler, that the settings name. */
export class OtelTracing implements Tracing {
  readonly #exporter: OtlpExporter<ReadableSpan>;
  readonly #tracer: Tracer;
  readonly #shared: Shared;
  /** The id of the trace whose root is being made. */
  #nextTrace: string | undefined;

  constructor(
    settings: TracingSettings,
    { name, version, log }: TracedProcess & { version: string },
  ) {
    const { protocol } = settings;
    const serializer = SERIALIZERS[protocol];
    this.#exporter = new OtlpExporter({
      settings,
      type: TYPES[protocol],
      body: (batch) => serializer.serializeRequest(batch) ?? new Uint8Array(),
      complain: (problem, { batch, dropped }) =>
        log.warn({ problem, spans: batch, dropped }, 'traces do not reach their collector'),
    });
    const resource = resourceFromAttributes(settings.resource);
    this.#shared = { resource, instrumentationScope: { name, version } };
    const random = new RandomIdGenerator();
    const provider = new TracerProvider({
      resource,
      sampler: buildSampler(settings.sampler),
      idGenerator: {
        generateTraceId: () => this.#nextTrace ?? random.generateTraceId(),
        generateSpanId: () => random.generateSpanId(),
      },
      spanProcessors: [buildSpanProcessor(this.#exporter)],
    });
    this.#tracer = provider.getTracer(name, version);
  }

  get counts(): Tracing['counts'] {
    return this.#exporter.counts;
  }

  begin(
    name: string,
    { kind = 'internal', parent, traceId, attributes = {}, start }: SpanStart = {},
  ): OpenSpan {
    this.#nextTrace = traceId;
    const options = {
      kind: KINDS[kind],
      attributes,
      ...(start !== undefined && { startTime: start }),
    };
    const span = this.#tracer.startSpan(
      name,
      options,
      parent === undefined ? ROOT_CONTEXT : toContext(parent),
    );
    this.#nextTrace = undefined;
    return {
      place: toTraceContext(span.spanContext()),
      end: ({ name: better = name, attributes: more = {}, error, at } = {}) => {
        span.updateName(better);
        span.setAttributes(more);
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
        span.end(at);
      },
    };
  }

  add(spans: Span[]): void {
    this.#exporter.add(spans.map((span) => toReadableSpan(span, this.#shared)));
  }

  close(): Promise<void> {
    return this.#exporter.close();
  }
}

/** Returns a sampler by its name in OTEL_TRACES_SAMPLER. */
function buildSampler({ name, ratio }: SamplerSettings): Sampler {
  const roots: Record<string, () => Sampler> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  const [, base, own] = /^(parentbased_)?(.*)$/.exec(name) ?? [];
  const root = roots[own ?? '']!();
  return base === undefined ? root : new ParentBasedSampler({ root });
}

const buildSpanProcessor = (exporter: OtlpExporter<ReadableSpan>): SpanProcessor => ({
  onStart: () => undefined,
  onEnd: (span) => {
    if (isSampled(span.spanContext())) exporter.add([span]);
  },
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
});

/** The flag of W3C by which a trace is sent. */
const SAMPLED: number = TraceFlags.SAMPLED;
const isSampled = ({ traceFlags }: { traceFlags: number }): boolean =>
  (traceFlags & SAMPLED) === SAMPLED;

const toContext = ({ traceId, spanId, sampled, state }: TraceContext): Context =>
  trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(state !== undefined && { traceState: createTraceState(state) }),
  });

function toTraceContext({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const state = traceState?.serialize();
  return {
    traceId,
    spanId,
    sampled: isSampled({ traceFlags }),
    ...(state !== undefined && { state }),
  };
}

/** Returns a time in seconds and nanoseconds. */
const toHrTime = (milliseconds: number): HrTime => {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
};

/** Returns a span that another thread or process has made as the packages take it. */
function toReadableSpan(
  { traceId, spanId, parentSpanId, name, start, end, attributes, error }: Span,
  shared: Shared,
): ReadableSpan {
  const buildSpanContext = (id: string): SpanContext => ({
    traceId,
    spanId: id,
    traceFlags: TraceFlags.SAMPLED,
  });
  return {
    ...shared,
    name,
    kind: SpanKind.INTERNAL,
    spanContext: () => buildSpanContext(spanId),
    ...(parentSpanId !== undefined && { parentSpanContext: buildSpanContext(parentSpanId) }),
    startTime: toHrTime(start),
    endTime: toHrTime(end),
    duration: toHrTime(end - start),
    ended: true,
    status:
      error === undefined
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: error },
    attributes,
    links: [],
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}
