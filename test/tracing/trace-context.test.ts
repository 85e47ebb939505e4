import { expect, test } from 'vitest';
import {
  getCurrentTrace,
  getCurrentTraceHeaders,
  readTraceContext,
  buildTraceHeaders,
  runInTrace,
} from '../../src/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('a place in a trace is read from the headers of W3C, and written as it came', () => {
  const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'vendor=1' };
  const place = readTraceContext(headers);
  expect(place).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true, state: 'vendor=1' });
  expect(buildTraceHeaders(place!)).toEqual(headers);
  expect(readTraceContext({ traceparent: `00-${TRACE}-${SPAN}-00` })?.sampled).toBe(false);
});

test.each([
  ['nothing', undefined],
  ['another form', 'trace'],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['the version that is forbidden', `ff-${TRACE}-${SPAN}-01`],
  ['more than its version has', `00-${TRACE}-${SPAN}-01-more`],
  ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
])('%s names no place', (_, traceparent) => {
  expect(readTraceContext({ traceparent })).toBeUndefined();
});

test('a later version is read as far as this one goes', () => {
  expect(readTraceContext({ traceparent: `01-${TRACE}-${SPAN}-03-more` })).toEqual({
    traceId: TRACE,
    spanId: SPAN,
    sampled: true,
  });
});

test('work knows its place, and its requests carry it on', () => {
  const place = { traceId: TRACE, spanId: SPAN, sampled: true };
  expect(runInTrace(place, () => [getCurrentTrace(), getCurrentTraceHeaders()])).toEqual([
    place,
    { traceparent: `00-${TRACE}-${SPAN}-01` },
  ]);
  expect(runInTrace(undefined, () => [getCurrentTrace(), getCurrentTraceHeaders()])).toEqual([
    undefined,
    {},
  ]);
});
