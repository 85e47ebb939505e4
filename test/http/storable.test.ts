import { describe, expect, test } from 'vitest';
import { refuseUnstorable } from '../../src/http/bodies/storable.ts';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const check = (text: string) => () => refuseUnstorable(JSON.parse(text), 'body');

describe('what no database keeps as it was sent is refused, with its place', () => {
  test.each([
    [
      'a NUL character',
      '{"metadata": {"note": "a\\u0000b"}}',
      /^body\.metadata\.note: the NUL character/,
    ],
    ['a NUL character in a name', '{"input": {"a\\u0000": 1}}', /^body\.input\..*NUL/],
    [
      'the first half of a surrogate pair',
      '{"input": ["ok", "\\ud83d"]}',
      /^body\.input\.1: half of a surrogate pair/,
    ],
    ['the second half of one', '"\\ude00"', /^body: half of a surrogate pair/],
    [
      'a number beyond a double',
      '{"input": {"n": -1e400}}',
      /^body\.input\.n: the number is too large/,
    ],
    [
      '__proto__',
      '{"config": {"__proto__": {"polluted": true}}}',
      /^body\.config\.__proto__: this name/,
    ],
    [
      'constructor.prototype',
      '[{"constructor": {"prototype": {"polluted": true}}}]',
      /^body\.0\.constructor: this name/,
    ],
  ])('%s', (_what, text, sentence) => {
    expect(check(text)).toThrow(sentence);
  });

  test('nesting beyond a thousand levels, told without its whole path', () => {
    expect(() => refuseUnstorable(nested(1001), 'body')).toThrow(
      /^body(\.0){20}: nested deeper than 1000 levels$/,
    );
    expect(() => refuseUnstorable(nested(100_000), 'query')).toThrow(/nested deeper/);
  });
});

describe('what is only unusual passes', () => {
  test.each([
    ['a whole surrogate pair', '"\\ud83d\\ude00"'],
    ['an escaped backslash before u0000', '"\\\\u0000"'],
    ['a constructor that is a word', '{"constructor": "Ferrari", "prototype": 1}'],
    ['a very large number', '1.7e308'],
    ['nothing', 'null'],
  ])('%s', (_what, text) => {
    expect(check(text)).not.toThrow();
  });

  test('a thousand levels', () => {
    expect(() => refuseUnstorable(nested(1000), 'body')).not.toThrow();
  });
});
