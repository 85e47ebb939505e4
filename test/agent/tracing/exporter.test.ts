import { afterEach, beforeEach, expect, test } from 'vitest';
import { LogExporter, SpanExporter } from '../../../src/agent/tracing/exporter.ts';
import type { Span } from '../../../src/schema/wire/wall/run-in-thread.ts';
import { startCollector, type Collector } from '../../kit/collector.ts';
import { silentLog } from '../../kit/log.ts';

let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
});
afterEach(() => collector.stop());

const exporter = (url = `${collector.url}/v1/traces`, delayMilliseconds = 10_000): SpanExporter =>
  new SpanExporter(
    { url, headers: { 'x-key': 'k' }, resource: { 'service.name': 'a' }, timeoutMilliseconds: 10_000, delayMilliseconds },
    silentLog(),
  );
const spans = (count: number): Span[] =>
  Array.from({ length: count }, (_, index) => ({
    traceId: 'a'.repeat(32),
    spanId: index.toString(16).padStart(16, '0'),
    name: 'work',
    start: 1,
    end: 2,
    attributes: {},
  }));

test('spans wait for company, and a full batch goes at once', async () => {
  const one = exporter();
  one.add(spans(500));
  expect(collector.requests).toEqual([]);
  one.add(spans(100));
  await expect.poll(() => collector.requests.map((request) => request.spans)).toEqual([512, 88]);
  await one.close();
  expect(one.counts).toEqual({ exported: 600, dropped: 0 });
});

test('spans that wait alone go after their delay', async () => {
  const one = exporter(undefined, 20);
  one.add(spans(1));
  await expect.poll(() => collector.spans.length).toBe(1);
  await one.close();
});

test('what is more than may wait is dropped, and counted', async () => {
  const one = exporter();
  one.add(spans(5000));
  await one.close();
  expect(one.counts).toEqual({ exported: 2048, dropped: 2952 });
  expect(collector.spans).toHaveLength(2048);
});

test('a batch that the collector refuses is not sent again', async () => {
  collector.answers.push(400);
  const one = exporter();
  one.add(spans(2));
  await one.close();
  expect([collector.requests.length, one.counts]).toEqual([1, { exported: 0, dropped: 2 }]);
});

test('a batch for which the collector has no time is sent again', async () => {
  collector.answers.push(429);
  const one = exporter(undefined, 1);
  one.add(spans(2));
  await expect.poll(() => collector.spans.length).toBe(2);
  await one.close();
  expect(one.counts).toEqual({ exported: 2, dropped: 0 });
});

test('closing does not wait for a collector that is not there', async () => {
  const one = exporter('http://127.0.0.1:9/v1/traces');
  one.add(spans(2));
  const began = performance.now();
  await one.close();
  expect(performance.now() - began).toBeLessThan(4500);
  expect(one.counts).toEqual({ exported: 0, dropped: 2 });
});

test('lines that wait for a collector that is away are bounded and counted, and one line tells of it', async () => {
  const told: object[] = [];
  const settings = { url: 'http://127.0.0.1:9/v1/logs', headers: {}, resource: {}, timeoutMilliseconds: 1000, delayMilliseconds: 10_000 };
  const one = new LogExporter(settings, (facts) => told.push(facts));
  for (let line = 0; line < 3000; line += 1) one.line('{"level":"info","msg":"x"}\n');
  one.line('x'.repeat(100_000));
  await one.close();
  await expect.poll(() => one.counts).toEqual({ exported: 0, dropped: 3001 });
  expect(told).toEqual([{ problem: expect.any(String) as string, lines: 512, dropped: expect.any(Number) as number }]);
});
