import { afterAll, beforeAll, expect, test } from 'vitest';
import { readControlPlaneConfig } from '../../src/config/platform/control-plane.ts';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { startCollector, type Collector } from '../kit/collector.ts';
import { until } from '../kit/until.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';

/* Spans of a control plane and an operator on a real API server, as they arrive at a collector. */

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

let collector: Collector;
let plane: Plane;
beforeAll(async () => {
  collector = await startCollector();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '20',
  };
  plane = await startPlane('traces', { tracing: readControlPlaneConfig(env).tracing });
  plane.startKubelet();
  await plane.startOperator({ config: { tracing: readOperatorConfig(env).tracing } });
});
afterAll(async () => {
  await plane.stop();
  await collector.stop();
});

const spansNamed = (name: string) => collector.spans.filter((span) => span.name === name);

test('a request goes on with the trace of its caller, and one without begins its own; probes begin none', async () => {
  const headers = { traceparent: `00-${TRACE}-${CALLER}-01` };
  expect(
    (await plane.call('POST', '/v2/deployments', { body: creation('traced'), headers })).status,
  ).toBe(201);
  expect((await plane.call('GET', '/v2/deployments')).status).toBe(200);
  await fetch(`${plane.url}/healthz`);
  await fetch(plane.metricsUrl);
  const [made, listed] = await until('both are there', () => {
    const found = [...spansNamed('POST /v2/deployments'), ...spansNamed('GET /v2/deployments')];
    return found.length === 2 && found;
  });
  const attributes = { 'http.route': '/v2/deployments', 'http.response.status_code': 201 };
  expect(made).toMatchObject({
    traceId: TRACE,
    parentSpanId: CALLER,
    attributes,
    resource: { 'service.name': 'gx-control-plane' },
  });
  expect(listed?.traceId).not.toBe(TRACE);
  expect(listed?.parentSpanId ?? '').toBe('');
  expect(collector.spans.filter(({ name }) => /healthz|metrics/.test(name))).toEqual([]);
});

test('each reconcile of the operator is a trace, with its object and its result', async () => {
  const span = await until('a reconcile is there', () =>
    spansNamed('reconcile deployment').find(
      ({ attributes }) => attributes['gx.result'] !== 'error',
    ),
  );
  expect(span).toMatchObject({
    attributes: {
      'k8s.namespace.name': plane.namespace,
      'gx.object': expect.any(String) as string,
    },
    resource: { 'service.name': 'gx-operator' },
  });
});
