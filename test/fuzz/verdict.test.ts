import { expect, test } from 'vitest';
import { verdictOf } from './verdict.ts';

const report = (failures: string[], errors: string[]) => ({
  failures: failures.map((title) => ({ title, operations: ['GET /a'] })),
  errors: errors.map((title) => ({ title })),
  test_cases: { generated: 12 },
});

test.each([
  ['nothing found', 0, report([], []), { kind: 'clean', cases: 12 }],
  [
    'an answer outside the document',
    1,
    report(['Undocumented status code'], []),
    { kind: 'faults', what: ['Undocumented status code (GET /a)'] },
  ],
  [
    'no answer in time',
    1,
    report([], ['Network Error']),
    { kind: 'faults', what: ['Network Error'] },
  ],
  [
    'a crash of the tool',
    1,
    report([], ['Runtime Error']),
    { kind: 'broken', what: ['Runtime Error'] },
  ],
  [
    'a crash beside a fault',
    1,
    report(['Server error'], ['Runtime Error']),
    { kind: 'faults', what: ['Server error (GET /a)'] },
  ],
  [
    'a wrong argument',
    2,
    undefined,
    { kind: 'broken', what: ['ended with 2 and without a report'] },
  ],
  ['nothing tested', 2, report([], []), { kind: 'broken', what: ['ended with 2'] }],
])('%s', (_, code, given, verdict) => {
  expect(verdictOf(code, given)).toEqual(verdict);
});
