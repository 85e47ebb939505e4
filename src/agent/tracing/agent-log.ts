import type { AgentConfig } from '../../config/agent/agent.ts';
import { createLog, type Log, deriveTraceId } from '../../log.ts';
import type { CollectorSettings } from '../../config/tracing.ts';
import { OtlpExporter } from '../../tracing/exporter.ts';
import { readVersions } from '../kernel/versions.ts';
import type { AttributeValue } from '../../schema/wire/wall/run-in-thread.ts';
import { toOtlpAttributes, formatNanoseconds } from './span.ts';
import { parseJsonOr } from '../../schema/json.ts';

/** Characters of the longest line that is sent. */
const LONGEST = 65_536;

/** Sends lines of the log. Losses are reported by `warn`, which may be a line of the same log. */
export class LogExporter extends OtlpExporter<string> {
  constructor(settings: CollectorSettings, warn: (facts: object, message: string) => void) {
    const scope = { name: 'gx-agent-server', version: readVersions().version };
    super({
      settings,
      type: 'application/json',
      body: (lines) => JSON.stringify(toOtlpLogs(lines, settings.resource, scope)),
      complain: (problem, { batch, dropped }) =>
        warn({ problem, lines: batch, dropped }, 'lines of the log do not reach their collector'),
    });
  }

  addLine(line: string): void {
    if (line.length <= LONGEST) this.add([line]);
    else this.counts.dropped += 1;
  }
}

export type Logging = { log: Log; lines?: LogExporter | undefined };

/** Returns the fields of every line: which deployment and revision it is of. */
export const logFieldsOf = ({
  deployment,
  revision,
}: {
  deployment: string | undefined;
  revision: string | undefined;
}): Record<string, string> => ({
  ...(deployment !== undefined && { deployment }),
  ...(revision !== undefined && { revision }),
});

/** Makes the log of an agent server. */
export function createAgentLog({ logLevel: level, logs, ...of }: AgentConfig): Logging {
  const lines: LogExporter | undefined =
    logs && new LogExporter(logs, (facts, message) => log.warn(facts, message));
  const log: Log = createLog({
    level,
    process: 'agent-server',
    fields: logFieldsOf(of),
    also: lines && ((line) => lines.addLine(line)),
  });
  return { log, lines };
}

/** SeverityNumber of the protocol (OpenTelemetry's data model of logs), by the words of our lines. */
const SEVERITIES: Readonly<Record<string, number>> = {
  trace: 1,
  debug: 5,
  info: 9,
  warn: 13,
  error: 17,
  fatal: 21,
};

type Fault = { type?: string; message?: string; stack?: string };
type Line = { level?: string; time?: string; msg?: string; err?: Fault; run_id?: unknown } & Record<
  string,
  unknown
>;

/** Returns lines of the log in the JSON form of OTLP, one resource for all of them. */
function toOtlpLogs(
  lines: string[],
  resource: Record<string, string>,
  scope: { name: string; version: string },
): object {
  return {
    resourceLogs: [
      {
        resource: { attributes: toOtlpAttributes(resource) },
        scopeLogs: [{ scope, logRecords: lines.map(logRecord) }],
      },
    ],
  };
}

function logRecord(text: string): object {
  const {
    level = 'info',
    time,
    msg = '',
    err,
    ...data
  } = parseJsonOr(text, { msg: text.trimEnd() }) as Line;
  const at = time === undefined ? Date.now() : Date.parse(time);
  const { run_id: run, trace_id: own } = data;
  return {
    timeUnixNano: formatNanoseconds(at),
    observedTimeUnixNano: formatNanoseconds(at),
    severityNumber: SEVERITIES[level] ?? 0,
    severityText: level.toUpperCase(),
    body: { stringValue: msg },
    attributes: toOtlpAttributes({ ...toAttributeValues(data), ...toExceptionAttributes(err) }),
    // The record is found beside the trace of its run.
    ...(typeof own === 'string'
      ? { traceId: own }
      : typeof run === 'string' && { traceId: deriveTraceId(run) }),
  };
}

const toAttributeValues = (data: Record<string, unknown>): Record<string, AttributeValue> =>
  Object.fromEntries(
    Object.entries(data)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [
        name,
        typeof value === 'object' ? JSON.stringify(value) : (value as AttributeValue),
      ]),
  );

/** Returns an error under the names that OpenTelemetry gives to exceptions. */
const toExceptionAttributes = ({ type, message, stack }: Fault = {}): Record<
  string,
  AttributeValue
> => ({
  ...(type !== undefined && { 'exception.type': type }),
  ...(message !== undefined && { 'exception.message': message }),
  ...(stack !== undefined && { 'exception.stacktrace': stack }),
});
