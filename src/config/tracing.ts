import { chooseProxy } from '../http/outgoing/proxies.ts';
import type { SettingsReader } from './env.ts';
import { readProxies } from './proxies.ts';

/** Where a collector takes spans or lines of the log. */
export type CollectorSettings = {
  /** The address to which they are sent by POST. */
  url: string;
  /** The proxy through which it is asked. */
  through?: string;
  headers: Record<string, string>;
  resource: Record<string, string>;
  timeoutMilliseconds: number;
  /** How long they wait to be sent together. */
  delayMilliseconds: number;
  compression: 'gzip' | 'none';
};

const MINUTE = 60_000;

/** The forms of OTLP that are sent. */
const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
type OtlpProtocol = (typeof PROTOCOLS)[number];

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
/** Which traces are sent. `ratio` is the share of traces that one `traceidratio` takes. */
export type SamplerSettings = { name: (typeof SAMPLERS)[number]; ratio: number };

/**
 * `contents`: spans hold inputs and outputs, too. `passesOn`: requests of graphs carry the trace on. `link`: where
 * people look at a trace, with `{trace_id}` in the place of its id.
 */
export type TracingSettings = CollectorSettings & {
  protocol: OtlpProtocol;
  sampler: SamplerSettings;
  contents: boolean;
  passesOn: boolean;
  link?: string;
};

/** OpenTelemetry's own switch, and its words for contents in spans. */
const CONTENTS = ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'];
const IN_SPANS = ['true', '1', 'yes', 'on', 'span_only', 'span_and_event'];

/** Names of the project that LangSmith's library in a graph traces into. It takes the first one that is set. */
export const LANGSMITH_PROJECTS = ['LANGSMITH_PROJECT', 'LANGCHAIN_PROJECT', 'LANGCHAIN_SESSION'];

/** Reads the project that such a library gets, where the environment names none: the deployment's own. */
export const readLangsmithProject = (read: SettingsReader): string | undefined =>
  read.readOptional(LANGSMITH_PROJECTS) === undefined
    ? read.readOptional(['GX_DEPLOYMENT'])
    : undefined;

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const TIMEOUT = { min: 1, max: MINUTE };

/**
 * Reads where traces go, by OpenTelemetry's own names (its environment variable specification). Returns undefined
 * without an endpoint, and if tracing is switched off. Values that this process can't follow are problems, so that
 * nobody waits for traces in vain.
 */
export function readTracingSettings(
  read: SettingsReader,
  service = 'gx-agent-server',
): TracingSettings | undefined {
  const exact = read.readOptional(['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
  const base = read.readOptional([ENDPOINT]);
  if ((exact ?? base) === undefined || read.readFlag(['OTEL_SDK_DISABLED'], false))
    return undefined;
  if (read.readOneOf(['OTEL_TRACES_EXPORTER'], 'otlp', ['otlp', 'none']) === 'none')
    return undefined;
  const url = checkCollectorUrl(
    read,
    exact ?? `${base?.replace(/\/+$/, '')}/v1/traces`,
    exact === undefined ? ENDPOINT : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  );
  return {
    url,
    ...chooseCollectorProxy(read, url),
    headers: readPairs(read, ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS']),
    resource: readResource(read, service),
    timeoutMilliseconds: read.readInteger(
      ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'],
      10_000,
      TIMEOUT,
    ),
    delayMilliseconds: read.readInteger(['OTEL_BSP_SCHEDULE_DELAY'], 5000, TIMEOUT),
    compression: readCompression(read, 'TRACES'),
    protocol: readProtocol(read, 'TRACES'),
    sampler: readSampler(read),
    contents: IN_SPANS.includes(read.readText(CONTENTS, 'false').toLowerCase()),
    passesOn: read
      .readText(['OTEL_PROPAGATORS'], 'tracecontext')
      .toLowerCase()
      .split(/\s*,\s*/)
      .includes('tracecontext'),
    ...readTraceLink(read),
  };
}

/** Returns the proxy for a collector. One without TLS is in the cluster, often by a short name, and asked directly. */
function chooseCollectorProxy(read: SettingsReader, url: string): { through?: string } {
  const through =
    URL.canParse(url) && url.startsWith('https:')
      ? chooseProxy(new URL(url), readProxies(read))
      : undefined;
  return through === undefined ? {} : { through };
}

const LINK = 'GX_TRACE_LINK';
const TRACE_ID = '{trace_id}';

function readTraceLink(read: SettingsReader): { link?: string } {
  const link = read.readOptional([LINK]);
  if (link === undefined) return {};
  if (!link.includes(TRACE_ID))
    read.addProblem(`${LINK} must have ${TRACE_ID} in the place of the id of a trace`);
  return { link: checkCollectorUrl(read, link, LINK) };
}

type Signal = 'TRACES' | 'LOGS';

/** OpenTelemetry's default is none; every collector takes both. */
const readCompression = (read: SettingsReader, of: Signal): CollectorSettings['compression'] =>
  read.readOneOf(
    [`OTEL_EXPORTER_OTLP_${of}_COMPRESSION`, 'OTEL_EXPORTER_OTLP_COMPRESSION'],
    'gzip',
    ['gzip', 'none'],
  );

function readProtocol(read: SettingsReader, of: Signal): OtlpProtocol {
  const names = [`OTEL_EXPORTER_OTLP_${of}_PROTOCOL`, 'OTEL_EXPORTER_OTLP_PROTOCOL'];
  const given = read.readText(names, 'http/protobuf').toLowerCase();
  const found = PROTOCOLS.find((one) => one === given);
  if (found === undefined)
    read.addProblem(
      `${names.at(-1)} is ${given}, and this process speaks ${PROTOCOLS.join(' and ')} alone`,
    );
  return found ?? 'http/protobuf';
}

function readSampler(read: SettingsReader): SamplerSettings {
  const name = read.readOneOf(['OTEL_TRACES_SAMPLER'], 'parentbased_always_on', SAMPLERS);
  const ratio = name.endsWith('traceidratio')
    ? Number(read.readText(['OTEL_TRACES_SAMPLER_ARG'], '1'))
    : 1;
  if (ratio >= 0 && ratio <= 1) return { name, ratio };
  read.addProblem('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1');
  return { name, ratio: 1 };
}

/** Reads an address of a collector. One of another protocol than HTTP is a problem that names it. */
export function checkCollectorUrl(read: SettingsReader, url: string, setting: string): string {
  // A user's name and password in front of the host are nobody's business.
  const shown = url.replace(/\/\/[^@/]*@/, '//');
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url))
    read.addProblem(`${setting} must be an http or https URL, and ${shown} is none`);
  return url;
}

/** The switch and the address are the names of other servers of this interface. */
const LOGS = ['SELF_HOSTED_LOGS_ENABLED', 'LANGGRAPH_LOGS_ENABLED'];
const LOGS_ENDPOINT = [
  'SELF_HOSTED_LOGS_ENDPOINT',
  'LANGGRAPH_LOGS_ENDPOINT',
  'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT',
];

/**
 * Reads where lines of the log go, besides standard output; undefined when they go nowhere else. An address without a
 * path gets that of the protocol.
 */
export function logSettings(read: SettingsReader): CollectorSettings | undefined {
  if (!read.readFlag(LOGS, false)) return undefined;
  // Lines are sent as JSON, which collectors take at the same address. One that speaks gRPC alone does not.
  readProtocol(read, 'LOGS');
  const url = readLogsUrl(read);
  return {
    url,
    ...chooseCollectorProxy(read, url),
    headers: readPairs(read, ['OTEL_EXPORTER_OTLP_LOGS_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS']),
    resource: readResource(read, 'gx-agent-server'),
    timeoutMilliseconds: read.readInteger(
      ['OTEL_EXPORTER_OTLP_LOGS_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'],
      10_000,
      TIMEOUT,
    ),
    delayMilliseconds: read.readInteger(['OTEL_BLRP_SCHEDULE_DELAY'], 1000, TIMEOUT),
    compression: readCompression(read, 'LOGS'),
  };
}

function readLogsUrl(read: SettingsReader): string {
  const own = read.readOptional(LOGS_ENDPOINT);
  const given = own ?? read.readOptional(['OTEL_EXPORTER_OTLP_ENDPOINT']);
  if (given === undefined) {
    read.addProblem(`${LOGS[0]} is set without ${LOGS_ENDPOINT[0]}, the address of a collector`);
    return '';
  }
  if (!/^https?:\/\/[^/]/.test(given) || !URL.canParse(given)) {
    read.addProblem(`${LOGS_ENDPOINT[0]} must be an http or https URL`);
    return '';
  }
  const url = new URL(given);
  if (own === undefined || url.pathname === '/')
    url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/logs`;
  return url.href;
}

const readResource = (read: SettingsReader, service: string): Record<string, string> => ({
  'service.name': read.readText(['OTEL_SERVICE_NAME', 'GX_DEPLOYMENT'], service),
  ...readPairs(read, ['OTEL_RESOURCE_ATTRIBUTES']),
});

/** Reads pairs of the form `a=b,c=d`, with percent-encoded values. */
function readPairs(read: SettingsReader, names: string[]): Record<string, string> {
  const entries = read.readWords(names).map((pair): [string, string] => {
    const at = pair.indexOf('=');
    return [pair.slice(0, Math.max(at, 0)).trim(), decodePercent(pair.slice(at + 1).trim())];
  });
  if (entries.some(([name]) => name === ''))
    read.addProblem(`${names.at(-1)} must be a list of name=value`);
  return Object.fromEntries(entries);
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
