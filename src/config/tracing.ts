import type { SettingsReader } from './env.ts';

/** Where a collector takes spans or lines of the log. */
export type CollectorSettings = {
  /** The address to which they are sent by POST. */
  url: string;
  headers: Record<string, string>;
  /** Attributes of everything that this process sends. */
  resource: Record<string, string>;
  timeoutMilliseconds: number;
  /** How long they wait to be sent together. */
  delayMilliseconds: number;
};

const MINUTE = 60_000;

/** `contents`: spans hold inputs and outputs, too. */
export type TracingSettings = CollectorSettings & { contents: boolean };

/** OpenTelemetry's own switch, and its words for contents in spans. */
const CONTENTS = ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'];
const IN_SPANS = ['true', '1', 'yes', 'on', 'span_only', 'span_and_event'];

/** Names of the project that LangSmith's library in a graph traces into. It takes the first one that is set. */
export const LANGSMITH_PROJECTS = ['LANGSMITH_PROJECT', 'LANGCHAIN_PROJECT', 'LANGCHAIN_SESSION'];

/** Reads the project that such a library gets, where the environment names none: the deployment's own. */
export const langsmithProject = (read: SettingsReader): string | undefined =>
  read.optional(LANGSMITH_PROJECTS) === undefined ? read.optional(['GX_DEPLOYMENT']) : undefined;

/**
 * Reads where traces of runs go, by OpenTelemetry's own names (its environment variable specification). Returns
 * undefined without an endpoint, if tracing is switched off, and for gRPC, which other libraries in the process may
 * speak but this server does not.
 */
export function tracingSettings(read: SettingsReader): TracingSettings | undefined {
  const exact = read.optional(['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
  const base = read.optional(['OTEL_EXPORTER_OTLP_ENDPOINT']);
  const protocol = read.text(['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'], 'http/json');
  const settings = {
    url: exact ?? `${base?.replace(/\/+$/, '')}/v1/traces`,
    headers: pairs(read, ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS']),
    resource: resource(read),
    timeoutMilliseconds: read.integer(['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'], 10_000, { min: 1, max: MINUTE }),
    delayMilliseconds: read.integer(['OTEL_BSP_SCHEDULE_DELAY'], 5000, { min: 1, max: MINUTE }),
    contents: IN_SPANS.includes(read.text(CONTENTS, 'false').toLowerCase()),
  };
  const off = read.flag(['OTEL_SDK_DISABLED'], false) || read.text(['OTEL_TRACES_EXPORTER'], 'otlp') !== 'otlp';
  if ((exact ?? base) === undefined || off || protocol === 'grpc') return undefined;
  if (!/^https?:\/\/[^/]/.test(settings.url)) read.problem('OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL');
  return settings;
}

/** The switch and the address are the names of other servers of this interface. */
const LOGS = ['SELF_HOSTED_LOGS_ENABLED', 'LANGGRAPH_LOGS_ENABLED'];
const LOGS_ENDPOINT = ['SELF_HOSTED_LOGS_ENDPOINT', 'LANGGRAPH_LOGS_ENDPOINT', 'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT'];

/**
 * Reads where lines of the log go, besides standard output; undefined when they go nowhere else. An address without a
 * path gets that of the protocol.
 */
export function logSettings(read: SettingsReader): CollectorSettings | undefined {
  if (!read.flag(LOGS, false)) return undefined;
  return {
    url: logsUrl(read),
    headers: pairs(read, ['OTEL_EXPORTER_OTLP_LOGS_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS']),
    resource: resource(read),
    timeoutMilliseconds: read.integer(['OTEL_EXPORTER_OTLP_LOGS_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'], 10_000, { min: 1, max: MINUTE }),
    delayMilliseconds: read.integer(['OTEL_BLRP_SCHEDULE_DELAY'], 1000, { min: 1, max: MINUTE }),
  };
}

function logsUrl(read: SettingsReader): string {
  const own = read.optional(LOGS_ENDPOINT);
  const given = own ?? read.optional(['OTEL_EXPORTER_OTLP_ENDPOINT']);
  if (given === undefined) {
    read.problem(`${LOGS[0]} is set without ${LOGS_ENDPOINT[0]}, the address of a collector`);
    return '';
  }
  if (!/^https?:\/\/[^/]/.test(given) || !URL.canParse(given)) {
    read.problem(`${LOGS_ENDPOINT[0]} must be an http or https URL`);
    return '';
  }
  const url = new URL(given);
  if (own === undefined || url.pathname === '/') url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/logs`;
  return url.href;
}

const resource = (read: SettingsReader): Record<string, string> => ({
  'service.name': read.text(['OTEL_SERVICE_NAME', 'GX_DEPLOYMENT'], 'gx-agent-server'),
  ...pairs(read, ['OTEL_RESOURCE_ATTRIBUTES']),
});

/** Reads pairs of the form `a=b,c=d`, with percent-encoded values. */
function pairs(read: SettingsReader, names: string[]): Record<string, string> {
  const entries = read.words(names).map((pair): [string, string] => {
    const at = pair.indexOf('=');
    return [pair.slice(0, Math.max(at, 0)).trim(), decoded(pair.slice(at + 1).trim())];
  });
  if (entries.some(([name]) => name === '')) read.problem(`${names.at(-1)} must be a list of name=value`);
  return Object.fromEntries(entries);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
