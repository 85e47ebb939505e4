import { afterEach, beforeEach, expect, test } from 'vitest';
import { LogExporter } from '../../src/agent/tracing/agent-log.ts';
import type { TracingSettings } from '../../src/config/tracing.ts';
import type { Span } from '../../src/schema/wire/wall/run-in-thread.ts';
import { openTracing } from '../../src/tracing/open.ts';
import type { Tracing } from '../../src/tracing/spans.ts';
import { startCollector, type Collector } from '../kit/collector.ts';
import { silentLog } from '../kit/log.ts';

let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
});
afterEach(() => collector.stop());

const settings = (more: Partial<TracingSettings> = {}): TracingSettings => ({
  url: `${collector.url}/v1/traces`,
  headers: { 'x-key': 'k' },
  resource: { 'service.name': 'a' },
  timeoutMilliseconds: 10_000,
  delayMilliseconds: 10_000,
  compression: 'gzip',
  protocol: 'http/json',
  sampler: { name: 'parentbased_always_on', ratio: 1 },
  contents: false,
  passesOn: true,
  ...more,
});
const exporter = async (more: Partial<TracingSettings> = {}): Promise<Tracing> =>
  (await openTracing(settings(more), { name: 'a', log: silentLog() }))!;
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
  const one = await exporter();
  one.add(spans(500));
  expect(collector.requests).toEqual([]);
  one.add(spans(100));
  await expect.poll(() => collector.requests.map((request) => request.spans)).toEqual([512, 88]);
  await one.close();
  expect(one.counts).toEqual({ exported: 600, dropped: 0 });
});

test('spans that wait alone go after their delay', async () => {
  const one = await exporter({ delayMilliseconds: 20 });
  one.add(spans(1));
  await expect.poll(() => collector.spans.length).toBe(1);
  await one.close();
});

test('what is more than may wait is dropped, and counted', async () => {
  const one = await exporter();
  one.add(spans(5000));
  await one.close();
  expect(one.counts).toEqual({ exported: 2048, dropped: 2952 });
  expect(collector.spans).toHaveLength(2048);
});

test('a batch that the collector refuses is not sent again', async () => {
  collector.answers.push(400);
  const one = await exporter();
  one.add(spans(2));
  await one.close();
  expect([collector.requests.length, one.counts]).toEqual([1, { exported: 0, dropped: 2 }]);
});

test('a batch for which the collector has no time is sent again', async () => {
  collector.answers.push(429);
  const one = await exporter({ delayMilliseconds: 1 });
  one.add(spans(2));
  await expect.poll(() => collector.spans.length).toBe(2);
  await one.close();
  expect(one.counts).toEqual({ exported: 2, dropped: 0 });
});

test('closing does not wait for a collector that is not there', async () => {
  const one = await exporter({ url: 'http://127.0.0.1:9/v1/traces' });
  one.add(spans(2));
  const began = performance.now();
  await one.close();
  expect(performance.now() - began).toBeLessThan(4500);
  expect(one.counts).toEqual({ exported: 0, dropped: 2 });
});

test('lines that wait for a collector that is away are bounded and counted, and one line tells of it', async () => {
  const told: object[] = [];
  const away = settings({ url: 'http://127.0.0.1:9/v1/logs', timeoutMilliseconds: 1000 });
  const one = new LogExporter(away, (facts) => told.push(facts));
  for (let line = 0; line < 3000; line += 1) one.addLine('{"level":"info","msg":"x"}\n');
  one.addLine('x'.repeat(100_000));
  await one.close();
  await expect.poll(() => one.counts).toEqual({ exported: 0, dropped: 3001 });
  expect(told).toEqual([
    { problem: expect.any(String) as string, lines: 512, dropped: expect.any(Number) as number },
  ]);
});

test.each([
  ['http/protobuf', 'gzip', 'application/x-protobuf', 'gzip'],
  ['http/json', 'none', 'application/json', undefined],
] as const)(
  'the form of a request is that of the settings: %s, %s',
  async (protocol, compression, type, encoding) => {
    const one = await exporter({ protocol, compression });
    one.add(spans(1));
    await one.close();
    expect(one.counts).toEqual({ exported: 1, dropped: 0 });
    const [request] = collector.requests;
    expect([
      request?.headers['content-type'],
      request?.headers['content-encoding'],
      request?.headers['x-key'],
    ]).toEqual([type, encoding, 'k']);
  },
);

test('a span goes on with the trace that it is below, and has its id where it begins one', async () => {
  const one = await exporter();
  const place = {
    traceId: 'b'.repeat(32),
    spanId: 'c'.repeat(16),
    sampled: true,
    state: 'vendor=1',
  };
  const below = one.begin('below', {
    kind: 'server',
    parent: place,
    attributes: { text: 'x', whole: 3, half: 0.5, yes: true },
  });
  const root = one.begin('root', { traceId: 'd'.repeat(32), start: 1_790_000_000_000.25 });
  expect(below.place).toMatchObject({ traceId: place.traceId, sampled: true, state: 'vendor=1' });
  below.end({ name: 'better', attributes: { more: 1 }, error: 'no' });
  root.end({ at: 1_790_000_000_001 });
  const other = one.begin('other');
  other.end();
  await one.close();
  expect(collector.spans[0]).toMatchObject({
    traceId: place.traceId,
    parentSpanId: place.spanId,
    name: 'better',
    attributes: { text: 'x', whole: 3, half: 0.5, yes: true, more: 1 },
    status: { code: 2, message: 'no' },
    resource: { 'service.name': 'a' },
  });
  expect(collector.spans[1]).toMatchObject({
    traceId: 'd'.repeat(32),
    startTimeUnixNano: '1790000000000250000',
    endTimeUnixNano: '1790000000001000000',
  });
  expect(other.place.traceId).not.toBe(root.place.traceId);
});

test.each([
  ['always_off', [false, false]],
  ['always_on', [true, true]],
  ['traceidratio', [false, false]],
  ['parentbased_always_off', [true, false]],
  ['parentbased_traceidratio', [true, false]],
] as const)(
  'the sampler %s decides about traces that others began, and about its own',
  async (name, [asked, own]) => {
    const one = await exporter({ sampler: { name, ratio: 0 } });
    const below = one.begin('below', {
      parent: { traceId: 'b'.repeat(32), spanId: 'c'.repeat(16), sampled: true },
    });
    const root = one.begin('root');
    for (const span of [below, root]) span.end();
    await one.close();
    expect([below.place.sampled, root.place.sampled]).toEqual([asked, own]);
    expect(collector.spans.map((span) => span.name)).toEqual([
      ...(asked ? ['below'] : []),
      ...(own ? ['root'] : []),
    ]);
  },
);
