import { expect, test } from 'vitest';
import { findFailurePlace } from '../../../src/agent/kernel/failure-place.ts';

const thrown = (...frames: string[]): object => ({
  stack: ['Error: of my own', ...frames.map((frame) => `    at ${frame}`)].join('\n'),
});

test.each([
  [
    'the line of the graph',
    ['node (file:///app/graph.ts:7:11)', 'run (file:///app/node_modules/x/y.js:1:2)'],
    '/app/graph.ts:7',
  ],
  [
    'a line below a library that it calls',
    [
      'f (/app/node_modules/x/y.js:1:2)',
      'async n (/app/lib/a.ts:3:1)',
      'async file:///app/b.ts:1:1',
    ],
    '/app/lib/a.ts:3',
  ],
  [
    'no line of ours',
    ['put (file:///opt/gx/server.js:1:2)', 'file:///app/graph.mjs:9:5'],
    '/app/graph.mjs:9',
  ],
  ['none where there is none', ['node:internal/timers:1:2'], undefined],
])('the place of a failure is %s', (_, frames, place) => {
  expect(findFailurePlace(thrown(...frames), '/opt/gx/').at).toBe(place);
});

test('what has no stack has no place', () =>
  expect([findFailurePlace('text', '/x/'), findFailurePlace(undefined, '/x/')]).toEqual([
    { causes: [] },
    { causes: [] },
  ]));

test('the stack has the frames of the user first, and none of ours', () => {
  const error = thrown(
    'put (/opt/gx/server.js:1:2)',
    'f (/app/node_modules/x/y.js:1:2)',
    'n (/app/a.ts:3:1)',
  );
  expect(findFailurePlace(error, '/opt/gx/').stack).toBe(
    '    at n (/app/a.ts:3:1)\n    at f (/app/node_modules/x/y.js:1:2)',
  );
});
