import { createHash, randomBytes } from 'node:crypto';
import type { AttributeValue, Span } from '../../schema/wire/wall/run-in-thread.ts';

/**
 * Returns the id of a run's trace. All attempts of a run belong to one trace, and a reader who has the run's id has the
 * trace's.
 */

/** Returns the id of an attempt's span, which the thread that runs the graph needs before the attempt has ended. */
export const rootSpanId = (runId: string, attempt: number): string =>
  createHash('sha256').update(`${runId}/${attempt}`).digest('hex').slice(0, 16);

export const newSpanId = (): string => randomBytes(8).toString('hex');

/** Characters of an input or an output in a span. Some thousand spans wait for a collector that is away. */
const MOST_CONTENT = 8192;

/** Returns the input or output of a call, as the attribute that viewers of traces know. Takes JSON text. */
export const contentAttribute = (of: 'input' | 'output', text: string): Record<string, string> => ({
  [`${of}.value`]: text.length > MOST_CONTENT ? `${text.slice(0, MOST_CONTENT)}...` : text,
  [`${of}.mime_type`]: text.length > MOST_CONTENT ? 'text/plain' : 'application/json',
});

/** Returns spans in the JSON form of OTLP, one resource for all of them. */
export function otlpBody(spans: Span[], resource: Record<string, AttributeValue>, scope: { name: string; version: string }): object {
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

/** Returns nanoseconds as text, because a number can't hold 64 bits. */
export const nanoseconds = (milliseconds: number): string => {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)));
};

export const attributesOf = (values: Record<string, AttributeValue>): object[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: otlpValue(value) }));

function otlpValue(value: AttributeValue): object {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'string') return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
