import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCollector, type Collector } from '../../kit/collector.ts';
import {
  SPANS_OF_RUN,
  startTracedGateway,
  tracesIn,
  type TracedGateway,
} from '../../kit/traced-gateway.ts';
import { until } from '../../kit/until.ts';

/* A request that comes through the gateway, as a collector gets it from both processes. */

let collector: Collector;
let gateway: TracedGateway;

beforeAll(async () => {
  collector = await startCollector();
  gateway = await startTracedGateway({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
});
afterAll(async () => {
  await gateway.stop();
  await collector.stop();
});

test('the gateway, the agent and the tool that the graph calls are one trace', async () => {
  await gateway.run();
  const { spans } = await until(
    'all spans are there',
    () => collector.spans.length >= SPANS_OF_RUN.length && collector,
  );
  const shown = spans.map((span) => ({ ...span, service: String(span.resource['service.name']) }));
  expect(tracesIn(shown)).toEqual([SPANS_OF_RUN]);
});
