import { expect, test } from 'vitest';
import { buildConditions, isTrue } from '../../../src/operator/kernel/conditions.ts';
import {
  decideNext,
  buildSettledOutcome,
  buildStalledOutcome,
  buildWaitingOutcome,
  type ReconcileOutcome,
} from '../../../src/operator/kernel/outcome.ts';

const at = { generation: 3, now: '2026-01-02T00:00:00Z' };
const before = [
  {
    type: 'Ready',
    status: 'False' as const,
    reason: 'Old',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  },
];

test.each<[string, ReconcileOutcome, Record<string, string>]>([
  ['settled', buildSettledOutcome('fine'), { Ready: 'True' }],
  ['waiting', buildWaitingOutcome('Busy', 'soon', 5), { Ready: 'False', Reconciling: 'True' }],
  ['stalled', buildStalledOutcome('Broken', 'never'), { Ready: 'False', Stalled: 'True' }],
])('%s has exactly the conditions of kstatus', (_, outcome, expected) => {
  const conditions = buildConditions({ outcome, statements: [] }, [], at);
  expect(Object.fromEntries(conditions.map(({ type, status }) => [type, status]))).toEqual(
    expected,
  );
  expect(conditions.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
});

test('the time moves only when a status flips', () => {
  const again = buildConditions(
    { outcome: buildWaitingOutcome('Other', 'words'), statements: [] },
    before,
    at,
  );
  expect(again.find(({ type }) => type === 'Ready')?.lastTransitionTime).toBe(
    '2026-01-01T00:00:00Z',
  );
  const flipped = buildConditions(
    { outcome: buildSettledOutcome('done'), statements: [] },
    before,
    at,
  );
  expect(flipped[0]?.lastTransitionTime).toBe(at.now);
});

test('a message has no character that a terminal obeys', () => {
  const outcome = buildStalledOutcome(
    'Broken',
    'it said \u001b]0;owned\u0007\u001b[31mred\u001b[0m\u009b2J\nand\tmore\r',
  );
  const [ready] = buildConditions({ outcome, statements: [] }, [], at);
  expect(ready?.message).toBe('it said red\nand\tmore');
});

test('the same state gives the same bytes, whatever the order of its statements', () => {
  const one = { type: 'B', status: 'True' as const, reason: 'R', message: '' };
  const two = { ...one, type: 'A' };
  const outcome = buildSettledOutcome('x');
  const text = (statements: (typeof one)[]): string =>
    JSON.stringify(buildConditions({ outcome, statements }, before, at));
  expect(text([one, two])).toBe(text([two, one]));
  expect(
    isTrue(
      { status: { conditions: buildConditions({ outcome, statements: [one] }, [], at) } },
      'B',
    ),
  ).toBe(true);
});

test.each([
  ['settled', buildSettledOutcome('x'), { do: 'forget' }],
  ['waiting for a change', buildWaitingOutcome('A', 'b'), { do: 'forget' }],
  ['waiting for a time', buildWaitingOutcome('A', 'b', 7), { do: 'later', seconds: 7 }],
  ['stalled', buildStalledOutcome('A', 'b'), { do: 'forget' }],
  ['failed', 'failed' as const, { do: 'retry' }],
])('%s decides what comes next', (_, outcome, next) => {
  expect(decideNext(outcome)).toEqual(next);
});
