import { expect, test } from 'vitest';
import { otlpBody, rootSpanId, runSpan, traceIdOf } from '../../../src/agent/tracing/span.ts';

const RUN = '0199aabb-ccdd-7eef-8011-223344556677';
const attempt = { run_id: RUN, thread_id: 't', graph_id: 'chat', attempt: 2 };

test.each([
  ['succeeded', { kind: 'finish', status: 'success', error: null, rest: 'idle' }, 'success', undefined],
  ['failed', { kind: 'finish', status: 'error', error: { error: 'RangeError', message: 'no' }, rest: 'error' }, 'error', 'no'],
  ['was rolled back', { kind: 'delete' }, 'rolled back', undefined],
  ['was handed back', { kind: 'hand-back' }, 'handed back', undefined],
  ['was taken over', { kind: 'forget' }, 'lost', undefined],
] as const)('the span of a run that %s', (_, end, told, error) => {
  const span = runSpan(attempt, end, { start: 1, end: 2 });
  expect([span.attributes['gx.run_end'], span.error]).toEqual([told, error]);
});

test('attempts of a run share a trace and are spans of their own', () => {
  expect(traceIdOf(RUN)).toMatch(/^[0-9a-f]{32}$/);
  expect(rootSpanId(RUN, 1)).toMatch(/^[0-9a-f]{16}$/);
  expect(rootSpanId(RUN, 1)).not.toBe(rootSpanId(RUN, 2));
});

test('spans in the JSON form of OTLP', () => {
  const span = {
    traceId: 'a',
    spanId: 'b',
    parentSpanId: 'c',
    name: 'n',
    start: 1_790_000_000_000.25,
    end: 1_790_000_000_001,
    error: 'no',
  };
  const body = otlpBody(
    [{ ...span, attributes: { text: 'x', whole: 3, half: 0.5, yes: true } }],
    { 'service.name': 'chat' },
    { name: 's', version: '1' },
  );
  expect(body).toEqual({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'chat' } }] },
        scopeSpans: [
          {
            scope: { name: 's', version: '1' },
            spans: [
              {
                traceId: 'a',
                spanId: 'b',
                parentSpanId: 'c',
                name: 'n',
                kind: 1,
                startTimeUnixNano: '1790000000000250000',
                endTimeUnixNano: '1790000000001000000',
                attributes: [
                  { key: 'text', value: { stringValue: 'x' } },
                  { key: 'whole', value: { intValue: '3' } },
                  { key: 'half', value: { doubleValue: 0.5 } },
                  { key: 'yes', value: { boolValue: true } },
                ],
                status: { code: 2, message: 'no' },
              },
            ],
          },
        ],
      },
    ],
  });
});
