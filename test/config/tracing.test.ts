import { expect, test } from 'vitest';
import { SettingsReader, type Env } from '../../src/config/env.ts';
import { logSettings, readTracingSettings } from '../../src/config/tracing.ts';

const settings = (env: Env) => {
  const read = new SettingsReader(env);
  const given = readTracingSettings(read);
  read.finish();
  return given;
};
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

test.each([
  ['no endpoint', {}],
  ['the SDK switched off', { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
  ['another exporter', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
])('no traces with %s', (_, env) => {
  expect(settings(env)).toBeUndefined();
});

test('the names of OpenTelemetry are read', () => {
  const env = {
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc==, x-project=a%',
    OTEL_SERVICE_NAME: 'chat',
    OTEL_RESOURCE_ATTRIBUTES: 'gx.tracing_project=chat,team=a%2Cb',
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
  };
  expect(settings(env)).toEqual({
    url: 'http://collector:4318/v1/traces',
    headers: { authorization: 'Bearer abc==', 'x-project': 'a%' },
    resource: { 'service.name': 'chat', 'gx.tracing_project': 'chat', team: 'a,b' },
    timeoutMilliseconds: 500,
    delayMilliseconds: 5000,
    compression: 'gzip',
    protocol: 'http/protobuf',
    sampler: { name: 'parentbased_always_on', ratio: 1 },
    contents: false,
    passesOn: true,
  });
});

test.each(['true', 'SPAN_ONLY', 'span_and_event'])(
  'inputs and outputs are in spans for %s',
  (word) => {
    expect(
      settings({ ...ENDPOINT, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: word }),
    ).toMatchObject({ contents: true });
    expect(
      settings({ ...ENDPOINT, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'event_only' }),
    ).toMatchObject({ contents: false });
  },
);

test("the endpoint of traces is taken as it is, and the deployment's name serves without another", () => {
  const env = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c.example/otel/v1/traces',
    GX_DEPLOYMENT: 'mine',
  };
  expect(settings(env)).toMatchObject({
    url: 'https://c.example/otel/v1/traces',
    resource: { 'service.name': 'mine' },
  });
});

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }],
  ['OTEL_EXPORTER_OTLP_HEADERS', { ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'abc' }],
  [
    'OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL, and grpc://collector:4317/v1/traces is none',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://me:secret@collector:4317' },
  ],
  [
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'unix:///run/collector' },
  ],
  [
    'OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and this process speaks http/protobuf and http/json alone',
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
  ],
  ['is http/thrift', { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/thrift' }],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', { ...ENDPOINT, OTEL_EXPORTER_OTLP_COMPRESSION: 'zstd' }],
  [
    'OTEL_TRACES_EXPORTER must be one of otlp, none',
    { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'jaeger' },
  ],
  ['OTEL_TRACES_SAMPLER', { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'jaeger_remote' }],
  [
    'OTEL_TRACES_SAMPLER_ARG',
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'half' },
  ],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', { ...ENDPOINT, OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }],
])('%s is refused by name', (name, env) => {
  expect(() => settings(env)).toThrow(
    expect.objectContaining({
      name: 'StartError',
      message: expect.stringContaining(name) as string,
    }),
  );
});

test('protocol, compression and sampler are those of the settings, and those for traces come first', () => {
  const env = {
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'none',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  };
  expect(settings(env)).toMatchObject({
    protocol: 'http/json',
    compression: 'none',
    sampler: { name: 'parentbased_traceidratio', ratio: 0.25 },
  });
});

const logs = (env: Env): unknown => {
  const read = new SettingsReader({ SELF_HOSTED_LOGS_ENABLED: 'true', ...env });
  const given = logSettings(read);
  read.finish();
  return given;
};

test.each([
  ['as it is', { SELF_HOSTED_LOGS_ENDPOINT: 'https://c/own/path' }, 'https://c/own/path'],
  [
    "with the protocol's path where it has none",
    { SELF_HOSTED_LOGS_ENDPOINT: 'http://c:4318' },
    'http://c:4318/v1/logs',
  ],
  [
    "before OpenTelemetry's own",
    { SELF_HOSTED_LOGS_ENDPOINT: 'http://c/a', OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://d/b' },
    'http://c/a',
  ],
  [
    'from the endpoint of all signals',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/otel/' },
    'http://c:4318/otel/v1/logs',
  ],
])("a collector's address is taken %s", (_, env, url) => {
  expect(logs(env)).toMatchObject({ url });
});

test('lines of the log go nowhere else unless that is asked for, and then need an address', () => {
  expect(logs({ SELF_HOSTED_LOGS_ENABLED: 'false', ...ENDPOINT })).toBeUndefined();
  expect(() => logs({})).toThrow(
    /SELF_HOSTED_LOGS_ENABLED is set without SELF_HOSTED_LOGS_ENDPOINT/,
  );
  expect(() => logs({ SELF_HOSTED_LOGS_ENDPOINT: 'collector:4318' })).toThrow(
    /SELF_HOSTED_LOGS_ENDPOINT must be an http or https URL/,
  );
});

test.each(['grpc', 'http/thrift'])(
  'lines of the log are not sent by %s, and the start says so',
  (protocol) => {
    expect(() => logs({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: protocol })).toThrow(
      `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}`,
    );
  },
);

test('the address of a trace is one of the web, with a place for its id', () => {
  const link = 'https://jaeger.example/trace/{trace_id}';
  expect(settings({ ...ENDPOINT, GX_TRACE_LINK: link })).toMatchObject({ link });
  expect(settings({ ...ENDPOINT })).not.toHaveProperty('link');
  expect(() => settings({ ...ENDPOINT, GX_TRACE_LINK: 'https://jaeger.example' })).toThrow(
    'GX_TRACE_LINK must have {trace_id}',
  );
  expect(() => settings({ ...ENDPOINT, GX_TRACE_LINK: 'javascript:{trace_id}' })).toThrow(
    'GX_TRACE_LINK must be an http or https URL',
  );
});

test.each([
  ['tracecontext,baggage', true],
  ['b3, TraceContext', true],
  ['none', false],
  ['b3', false],
])(
  'requests of graphs carry their trace on with the propagators %s: %s',
  (OTEL_PROPAGATORS, passesOn) => {
    expect(settings({ ...ENDPOINT, OTEL_PROPAGATORS })).toMatchObject({ passesOn });
  },
);
