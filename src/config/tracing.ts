import type { SettingsReader } from './env.ts';

/** Where traces of runs go, by OpenTelemetry's own names of settings (its environment variable specification). */
export type TracingSettings = {
  /** The address to which spans are sent by POST. */
  url: string;
  headers: Record<string, string>;
  /** What every span of this process carries. */
  resource: Record<string, string>;
  timeoutMilliseconds: number;
  /** How long spans wait to be sent together. */
  delayMilliseconds: number;
};

const MINUTE = 60_000;

/**
 * Reads the settings of tracing. Returns undefined without an endpoint, if tracing is switched off, and for gRPC, which
 * other libraries in the process may speak but this server does not.
 */
export function tracingSettings(read: SettingsReader): TracingSettings | undefined {
  const exact = read.optional(['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
  const base = read.optional(['OTEL_EXPORTER_OTLP_ENDPOINT']);
  const protocol = read.text(['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'], 'http/json');
  const settings = {
    url: exact ?? `${base?.replace(/\/+$/, '')}/v1/traces`,
    headers: pairs(read, ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS']),
    resource: {
      'service.name': read.text(['OTEL_SERVICE_NAME', 'GX_DEPLOYMENT'], 'gx-agent-server'),
      ...pairs(read, ['OTEL_RESOURCE_ATTRIBUTES']),
    },
    timeoutMilliseconds: read.integer(['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'], 10_000, { min: 1, max: MINUTE }),
    delayMilliseconds: read.integer(['OTEL_BSP_SCHEDULE_DELAY'], 5000, { min: 1, max: MINUTE }),
  };
  const off = read.flag(['OTEL_SDK_DISABLED'], false) || read.text(['OTEL_TRACES_EXPORTER'], 'otlp') !== 'otlp';
  if ((exact ?? base) === undefined || off || protocol === 'grpc') return undefined;
  if (!/^https?:\/\/[^/]/.test(settings.url)) read.problem('OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL');
  return settings;
}

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
