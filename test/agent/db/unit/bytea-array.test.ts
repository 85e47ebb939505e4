import { expect, test } from 'vitest';
import { parseByteaArray } from '../../../../src/agent/db/base/bytea-array.ts';

const bytes = (text: string): Buffer => Buffer.from(text);

test.each([
  ['an empty one', '{}', []],
  ['texts', '{"\\\\x6869","\\\\x"}', [bytes('hi'), bytes('')]],
  [
    'rows of channel, type and value, where a value may be missing',
    '{{"\\\\x61","\\\\x6a",NULL},{"\\\\x62","\\\\x6a","\\\\x00ff"}}',
    [
      [bytes('a'), bytes('j'), null],
      [bytes('b'), bytes('j'), Buffer.from([0, 255])],
    ],
  ],
])('%s', (_, text, expected) => {
  expect(parseByteaArray(text)).toEqual(expected);
});
