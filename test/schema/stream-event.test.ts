import { expect, test } from 'vitest';
import { parseCursor } from '../../src/schema/agent/stream-event.ts';

const START = { ms: 0, seq: 0 };

test.each([
  ['-', START],
  ['-1', START],
  ['0', START],
  ['1763712000000-17', { ms: 1763712000000, seq: 17 }],
  ['1763712000000', { ms: 1763712000000, seq: 0 }],
  ['1763712000000-*', { ms: 1763712000000, seq: 0 }],
])('%s is a place in a stream', (text, cursor) => {
  expect(parseCursor(text)).toEqual(cursor);
});

test.each(['', 'abc', '-2', '1-', '-1-1', '1-2-3', '1.5', '1 ', `${'9'.repeat(16)}-1`, '1-*-1'])(
  '"%s" is none',
  (text) => {
    expect(parseCursor(text)).toBeUndefined();
  },
);
