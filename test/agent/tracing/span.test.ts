import { expect, test } from 'vitest';
import { traceIdOf } from '../../../src/log.ts';
import { otlpBody, rootSpanId } from '../../../src/agent/tracing/span.ts';

const RUN = '0199aabb-ccdd-7eef-8011-223344556677';

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
