import { traceIdOf } from '../../log.ts';
import type { AttributeValue } from '../../schema/wire/wall/run-in-thread.ts';
import { attributesOf, nanoseconds } from './span.ts';

/** SeverityNumber of the protocol (OpenTelemetry's data model of logs), by the words of our lines. */
const SEVERITIES: Readonly<Record<string, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 };

type Fault = { type?: string; message?: string; stack?: string };
type Line = { level?: string; time?: string; msg?: string; err?: Fault; run_id?: unknown } & Record<string, unknown>;

/** Returns lines of the log in the JSON form of OTLP, one resource for all of them. */
export function otlpLogs(lines: string[], resource: Record<string, string>, scope: { name: string; version: string }): object {
  return {
    resourceLogs: [{ resource: { attributes: attributesOf(resource) }, scopeLogs: [{ scope, logRecords: lines.map(logRecord) }] }],
  };
}

function logRecord(text: string): object {
  const { level = 'info', time, msg = '', err, ...data } = parsed(text);
  const at = time === undefined ? Date.now() : Date.parse(time);
  const { run_id: run, trace_id: own } = data;
  return {
    timeUnixNano: nanoseconds(at),
    observedTimeUnixNano: nanoseconds(at),
    severityNumber: SEVERITIES[level] ?? 0,
    severityText: level.toUpperCase(),
    body: { stringValue: msg },
    attributes: attributesOf({ ...valuesOf(data), ...faultOf(err) }),
    // The record is found beside the trace of its run.
    ...(typeof own === 'string' ? { traceId: own } : typeof run === 'string' && { traceId: traceIdOf(run) }),
  };
}

function parsed(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return { msg: text.trimEnd() };
  }
}

const valuesOf = (data: Record<string, unknown>): Record<string, AttributeValue> =>
  Object.fromEntries(
    Object.entries(data)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : (value as AttributeValue)]),
  );

/** Returns an error under the names that OpenTelemetry gives to exceptions. */
const faultOf = ({ type, message, stack }: Fault = {}): Record<string, AttributeValue> => ({
  ...(type !== undefined && { 'exception.type': type }),
  ...(message !== undefined && { 'exception.message': message }),
  ...(stack !== undefined && { 'exception.stacktrace': stack }),
});
