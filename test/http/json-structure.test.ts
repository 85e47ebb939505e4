import { expect, test } from 'vitest';
import { findExcess } from '../../src/http/bodies/json-structure.ts';

const limits = { values: 10, names: 3 };
const excess = (text: string): string | undefined => findExcess(Buffer.from(text), limits, 7)?.msg;

test.each([
  ['a text within all limits', '{"a":[1,2,3],"b":{"c":"[[[[,,,,:::"}}', undefined],
  [
    'quotes and backslashes in a text',
    String.raw`{"a":"\\",",,,,,,,,,,":"\",,,,,,,,,,\""}`,
    undefined,
  ],
  [
    'a list with too many items',
    `[${'0,'.repeat(10)}0]`,
    'more than 10 fields and items in a body of this size',
  ],
  [
    'too many lists',
    `[${'[]'.repeat(10)}]`,
    'more than 10 fields and items in a body of this size',
  ],
  ['too many names', '{"a":1,"b":2,"c":3,"d":4}', 'more than 3 different names of fields'],
  ['one name again and again', '[{"a":1},{"a":1},{"a":1},{"a":1}]', undefined],
  ['a text that does not end', '{"a', undefined],
  ['no JSON at all', ']]]}}}', undefined],
])('%s', (_, text, expected) => {
  expect(excess(text)).toBe(expected);
});

test('nesting deeper than a thousand levels', () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  const found = [1000, 1001].map(
    (levels) => findExcess(Buffer.from(deep(levels)), { values: 10_000, names: 1 }, 7)?.of,
  );
  expect(found).toEqual([undefined, 'depth']);
});
