import { createHash, randomBytes } from 'node:crypto';
import type { Claimed } from '../db/leases.ts';
import type { End } from '../runs/status.ts';

type Value = string | number | boolean;

/** One piece of work in a trace. Times are milliseconds since 1970, with fractions; ids are hex. */
export type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  start: number;
  end: number;
  attributes: Record<string, Value>;
  /** Why it failed. */
  error?: string;
};

/** Every attempt of a run belongs to its one trace, and whoever knows the run's id knows the trace's. */
export const traceIdOf = (runId: string): string => runId.replaceAll('-', '').toLowerCase();

/** The span of one attempt, known to the thread that runs the graph before the attempt has ended. */
export const rootSpanId = (runId: string, attempt: number): string =>
  createHash('sha256').update(`${runId}/${attempt}`).digest('hex').slice(0, 16);

export const newSpanId = (): string => randomBytes(8).toString('hex');

type Attempt = Pick<Claimed, 'run_id' | 'thread_id' | 'graph_id' | 'attempt'>;

const ENDS: Record<Exclude<End['kind'], 'finish'>, string> = { delete: 'rolled back', 'hand-back': 'handed back', forget: 'lost' };

/** An attempt of a run as the root of its trace (pure). */
export function runSpan(
  { run_id, thread_id, graph_id, attempt }: Attempt,
  outcome: End,
  { start, end }: { start: number; end: number },
): Span {
  const error = outcome.kind === 'finish' ? outcome.error : null;
  return {
    traceId: traceIdOf(run_id),
    spanId: rootSpanId(run_id, attempt),
    name: `run ${graph_id}`,
    start,
    end,
    attributes: {
      'gx.run_id': run_id,
      'gx.thread_id': thread_id,
      'gx.graph_id': graph_id,
      'gx.attempt': attempt,
      'gx.run_end': outcome.kind === 'finish' ? outcome.status : ENDS[outcome.kind],
      ...(error !== null && { 'error.type': error.error }),
    },
    ...(error !== null && { error: error.message }),
  };
}

/** Spans as the JSON form of OTLP, one resource for all of them (pure). */
export function otlpBody(spans: Span[], resource: Record<string, Value>, scope: { name: string; version: string }): object {
  return {
    resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans: [{ scope, spans: spans.map(otlpSpan) }] }],
  };
}

/** SPAN_KIND_INTERNAL and STATUS_CODE_ERROR of the protocol. */
const INTERNAL = 1;
const FAILED = 2;

function otlpSpan({ start, end, attributes, error, ...ids }: Span): object {
  return {
    ...ids,
    kind: INTERNAL,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(end),
    attributes: attributesOf(attributes),
    status: error === undefined ? {} : { code: FAILED, message: error },
  };
}

/** As text, because 64 bits are more than a number holds. */
const nanoseconds = (milliseconds: number): string => {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)));
};

const attributesOf = (values: Record<string, Value>): object[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: otlpValue(value) }));

function otlpValue(value: Value): object {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'string') return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
