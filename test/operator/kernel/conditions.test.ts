import { expect, test } from 'vitest';
import { conditionsOf, isTrue } from '../../../src/operator/kernel/conditions.ts';
import { nextOf, settled, stalled, waiting, type ReconcileOutcome } from '../../../src/operator/kernel/outcome.ts';

const at = { generation: 3, now: '2026-01-02T00:00:00Z' };
const before = [{ type: 'Ready', status: 'False' as const, reason: 'Old', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }];

test.each<[string, ReconcileOutcome, Record<string, string>]>([
  ['settled', settled('fine'), { Ready: 'True' }],
  ['waiting', waiting('Busy', 'soon', 5), { Ready: 'False', Reconciling: 'True' }],
  ['stalled', stalled('Broken', 'never'), { Ready: 'False', Stalled: 'True' }],
])('%s has exactly the conditions of kstatus', (_, outcome, expected) => {
  const conditions = conditionsOf({ outcome, statements: [] }, [], at);
  expect(Object.fromEntries(conditions.map(({ type, status }) => [type, status]))).toEqual(expected);
  expect(conditions.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
});

test('the time moves only when a status flips', () => {
  const again = conditionsOf({ outcome: waiting('Other', 'words'), statements: [] }, before, at);
  expect(again.find(({ type }) => type === 'Ready')?.lastTransitionTime).toBe('2026-01-01T00:00:00Z');
  const flipped = conditionsOf({ outcome: settled('done'), statements: [] }, before, at);
  expect(flipped[0]?.lastTransitionTime).toBe(at.now);
});

test('a message has no character that a terminal obeys', () => {
  const outcome = stalled('Broken', 'it said \u001b]0;owned\u0007\u001b[31mred\u001b[0m\u009b2J\nand\tmore\r');
  const [ready] = conditionsOf({ outcome, statements: [] }, [], at);
  expect(ready?.message).toBe('it said red\nand\tmore');
});

test('the same state gives the same bytes, whatever the order of its statements', () => {
  const one = { type: 'B', status: 'True' as const, reason: 'R', message: '' };
  const two = { ...one, type: 'A' };
  const outcome = settled('x');
  const text = (statements: (typeof one)[]): string => JSON.stringify(conditionsOf({ outcome, statements }, before, at));
  expect(text([one, two])).toBe(text([two, one]));
  expect(isTrue({ status: { conditions: conditionsOf({ outcome, statements: [one] }, [], at) } }, 'B')).toBe(true);
});

test.each([
  ['settled', settled('x'), { do: 'forget' }],
  ['waiting for a change', waiting('A', 'b'), { do: 'forget' }],
  ['waiting for a time', waiting('A', 'b', 7), { do: 'later', seconds: 7 }],
  ['stalled', stalled('A', 'b'), { do: 'forget' }],
  ['failed', 'failed' as const, { do: 'retry' }],
])('%s decides what comes next', (_, outcome, next) => {
  expect(nextOf(outcome)).toEqual(next);
});
