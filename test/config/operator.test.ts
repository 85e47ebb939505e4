import { expect, test } from 'vitest';
import { readControlPlaneConfig } from '../../src/config/platform/control-plane.ts';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { StartError } from '../../src/errors.ts';

test('an empty environment is a whole configuration', () => {
  const config = readOperatorConfig({});
  expect(config).toMatchObject({ port: 8081, namespaces: [], leaseName: 'gx-operator' });
  expect(config.settings).toMatchObject({
    exposeAs: 'ClusterIP',
    deletionPolicy: 'Retain',
    progressDeadlineSeconds: 600,
  });
});

test('a profile gives sizes, each of which may be set on its own', () => {
  const { settings } = readOperatorConfig({
    GX_PROFILE: 'small',
    GX_DEFAULT_MEMORY_MB: '300',
    GX_DEFAULT_CPU_MILLI: '50',
  });
  expect(settings.profile).toMatchObject({
    cpu: 0.05,
    memoryMb: 300,
    database: { cpu: 0.1, memoryMb: 256, storageGi: 10 },
  });
});

test('words are taken in any case and written as Kubernetes does', () => {
  expect(
    readOperatorConfig({ GX_EXPOSE_AS: 'NodePort', GX_WATCH_NAMESPACES: 'a, b' }),
  ).toMatchObject({
    namespaces: ['a', 'b'],
    settings: { exposeAs: 'NodePort' },
  });
});

test('agents are traced only when there is a collector', () => {
  const headers = { GX_OTLP_HEADERS_SECRET: 'otlp' };
  expect(readOperatorConfig(headers).settings.otlp).toBeUndefined();
  const endpoint = 'http://collector:4318';
  expect(readOperatorConfig({ GX_OTLP_ENDPOINT: endpoint }).settings.otlp).toEqual({ endpoint });
  expect(readOperatorConfig({ GX_OTLP_ENDPOINT: endpoint, ...headers }).settings.otlp).toEqual({
    endpoint,
    headersSecret: 'otlp',
  });
  expect(() => readOperatorConfig({ GX_OTLP_ENDPOINT: 'collector:4317' })).toThrow(
    /GX_OTLP_ENDPOINT/,
  );
});

test('the address of Prometheus is one that queries can be appended to', () => {
  expect(readOperatorConfig({}).settings.prometheusUrl).toBeUndefined();
  const url = 'http://prometheus.monitoring:9090/base';
  expect(readOperatorConfig({ GX_PROMETHEUS_URL: `${url}/` }).settings.prometheusUrl).toBe(url);
  expect([
    readControlPlaneConfig({}).asksPrometheus,
    readControlPlaneConfig({ GX_PROMETHEUS_URL: url }).asksPrometheus,
  ]).toEqual([false, true]);
  for (const wrong of ['prometheus:9090', 'ftp://a', 'http://me:word@a', 'http://a?b=c'])
    expect(() => readOperatorConfig({ GX_PROMETHEUS_URL: wrong })).toThrow(
      /GX_PROMETHEUS_URL must be an http or https address/,
    );
});

test('the console reaches agents where there is one, from its own namespace', () => {
  expect(readOperatorConfig({ GX_NAMESPACE: 'gx' }).settings.console).toBeUndefined();
  expect(readOperatorConfig({ GX_CONSOLE: 'true', GX_NAMESPACE: 'gx' }).settings.console).toEqual({
    namespace: 'gx',
  });
});

test('every problem is told at once', () => {
  expect(() => readOperatorConfig({ GX_HEALTH_PORT: 'x', GX_PROFILE: 'huge' })).toThrow(StartError);
});
