import { expect, test } from 'vitest';
import { toFieldText, toField } from '../../../../src/agent/db/base/json-field.ts';

test.each([
  ['a NUL is dropped', { a: 'x\u0000y' }, { a: 'xy' }],
  ['a text that only looks like one stays', { a: 'x\\u0000y' }, { a: 'x\\u0000y' }],
  [
    'half of a surrogate pair becomes the sign for no character',
    { a: 'x\ud800y' },
    { a: 'x\ufffdy' },
  ],
  ['a whole pair stays', { a: '\u{1f600}' }, { a: '\u{1f600}' }],
  ['a NUL behind a backslash is dropped', { a: 'x\\\u0000y' }, { a: 'x\\y' }],
])('%s', (_, given, expected) => {
  expect(JSON.parse(toField(given) ?? '')).toEqual(expected);
});

test('nothing is null, and clean text passes as it is', () => {
  expect(toField(undefined)).toBeNull();
  expect(toFieldText('{"a":1}')).toBe('{"a":1}');
});
