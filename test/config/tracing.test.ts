import { expect, test } from 'vitest';
import { SettingsReader, type Env } from '../../src/config/env.ts';
import { logSettings, tracingSettings } from '../../src/config/tracing.ts';

const settings = (env: Env) => {
  const read = new SettingsReader(env);
  const given = tracingSettings(read);
  read.finish();
  return given;
};
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

test.each([
  ['no endpoint', {}],
  ['the SDK switched off', { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
  ['another exporter', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ['gRPC', { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
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
    contents: false,
  });
});

test.each(['true', 'SPAN_ONLY', 'span_and_event'])('inputs and outputs are in spans for %s', (word) => {
  expect(settings({ ...ENDPOINT, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: word })).toMatchObject({ contents: true });
  expect(settings({ ...ENDPOINT, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'event_only' })).toMatchObject({ contents: false });
});

test("the endpoint of traces is taken as it is, and the deployment's name serves without another", () => {
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c.example/otel/v1/traces', GX_DEPLOYMENT: 'mine' };
  expect(settings(env)).toMatchObject({ url: 'https://c.example/otel/v1/traces', resource: { 'service.name': 'mine' } });
});

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }],
  ['OTEL_EXPORTER_OTLP_HEADERS', { ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'abc' }],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', { ...ENDPOINT, OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }],
])('%s is refused by name', (name, env) => {
  expect(() => settings(env)).toThrow(expect.objectContaining({ name: 'StartError', message: expect.stringContaining(name) as string }));
});

const logs = (env: Env): unknown => {
  const read = new SettingsReader({ SELF_HOSTED_LOGS_ENABLED: 'true', ...env });
  const given = logSettings(read);
  read.finish();
  return given;
};

test.each([
  ['as it is', { SELF_HOSTED_LOGS_ENDPOINT: 'https://c/own/path' }, 'https://c/own/path'],
  ["with the protocol's path where it has none", { SELF_HOSTED_LOGS_ENDPOINT: 'http://c:4318' }, 'http://c:4318/v1/logs'],
  ["before OpenTelemetry's own", { SELF_HOSTED_LOGS_ENDPOINT: 'http://c/a', OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://d/b' }, 'http://c/a'],
  ['from the endpoint of all signals', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/otel/' }, 'http://c:4318/otel/v1/logs'],
])("a collector's address is taken %s", (_, env, url) => {
  expect(logs(env)).toMatchObject({ url });
});

test('lines of the log go nowhere else unless that is asked for, and then need an address', () => {
  expect(logs({ SELF_HOSTED_LOGS_ENABLED: 'false', ...ENDPOINT })).toBeUndefined();
  expect(() => logs({})).toThrow(/SELF_HOSTED_LOGS_ENABLED is set without SELF_HOSTED_LOGS_ENDPOINT/);
  expect(() => logs({ SELF_HOSTED_LOGS_ENDPOINT: 'collector:4318' })).toThrow(/SELF_HOSTED_LOGS_ENDPOINT must be an http or https URL/);
});
