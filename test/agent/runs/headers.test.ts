import { expect, test } from 'vitest';
import {
  pickHeaders,
  buildLogHeaderFilter,
  buildHeaderFilter,
} from '../../../src/agent/runs/making/headers.ts';

test.each([
  ['nothing without rules', undefined, 'x-team', false],
  ['what a pattern means', { includes: ['X-Team-*'] }, 'x-team-id', true],
  ['the singular spelling too', { include: ['x-team'] }, 'x-team', true],
  [
    'no header that is excluded as well',
    { includes: ['x-*'], excludes: ['x-secret-*'] },
    'x-secret-hop',
    false,
  ],
  ['dots as dots', { includes: ['x.team'] }, 'x-team', false],
  ['no credential because of a pattern', { includes: ['*'] }, 'authorization', false],
  ['a credential that is named', { includes: ['authorization'] }, 'authorization', true],
] as const)('a graph sees %s', (_, rules, header, expected) => {
  expect(buildHeaderFilter(rules as never)(header)).toBe(expected);
});

test('the log shows what passes, cut where it is long, and no credential that is named', () => {
  const names = ['x-trace-id', 'authorization', 'x-api-key', 'cookie', 'x-long'];
  const headers = Object.fromEntries(
    names.map((name) => [name, name === 'x-long' ? 'l'.repeat(2000) : `the ${name}`]),
  );
  const shown = buildLogHeaderFilter({ includes: [...names, '*'] })!(headers);
  expect(shown).toEqual({ 'x-trace-id': 'the x-trace-id', 'x-long': `${'l'.repeat(1000)}...` });
  expect(buildLogHeaderFilter({ includes: ['x-other'] })!(headers)).toBeUndefined();
  expect(buildLogHeaderFilter(undefined)).toBeUndefined();
});

test('a header that came several times is one value', () => {
  expect(
    pickHeaders(
      { 'x-a': ['1', '2'] as never, 'x-b': undefined, 'x-c': '3' },
      (name) => name !== 'x-c',
    ),
  ).toEqual({
    'x-a': '1, 2',
  });
});
