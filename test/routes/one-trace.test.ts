import { afterAll, beforeAll, expect, test } from 'vitest';
import { startOtelCollector, type OtelCollector } from '../kit/otel-collector.ts';
import {
  SPANS_OF_RUN,
  startTracedGateway,
  tracesIn,
  type TracedGateway,
} from '../kit/traced-gateway.ts';
import { until } from '../kit/until.ts';

/* A request that comes through the gateway, as a real OpenTelemetry collector gets it from both processes. */

let collector: OtelCollector;
let gateway: TracedGateway;

beforeAll(async () => {
  collector = await startOtelCollector();
  gateway = await startTracedGateway({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
});
afterAll(async () => {
  await gateway.stop();
  await collector.stop();
});

test('the gateway, the agent and the tool that the graph calls are one trace, as protobuf in gzip', async () => {
  await gateway.run();
  const spans = await until('all spans are there', async () => {
    const found = await collector.spans();
    return found.length >= SPANS_OF_RUN.length && found;
  });
  expect(tracesIn(spans)).toEqual([SPANS_OF_RUN]);
});
