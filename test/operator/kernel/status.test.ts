import { expect, test } from 'vitest';
import { buildStatusPatch, findTransition } from '../../../src/operator/kernel/status.ts';

const condition = (type: string, status: 'True' | 'False', reason: string, message = 'm') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: 't',
});

test('the same status is not sent, whatever the order of its fields', () => {
  expect(buildStatusPatch({ a: 1, b: 2 }, { b: 2, a: 1 })).toBeUndefined();
});

test('a field that is gone is sent as null', () => {
  expect(buildStatusPatch({ phase: 'X', reason: 'Bad' }, { phase: 'Y' })).toEqual({
    phase: 'Y',
    reason: null,
  });
});

test('a field that is gone below another is sent as null, and a list as a whole', () => {
  const before = {
    rollout: { current: 'a', draining: [{ name: 'b', waiting: 1 }], since: 'now' },
    queue: { due: 1 },
  };
  const after = { rollout: { current: 'a', draining: [{ name: 'b' }] }, queue: { due: 1 } };
  expect(buildStatusPatch(before, after)).toEqual({
    rollout: { current: 'a', draining: [{ name: 'b' }], since: null },
    queue: { due: 1 },
  });
});

test('an event is told when the phase or what Ready says changes, and not otherwise', () => {
  const before = { phase: 'A', conditions: [condition('Ready', 'False', 'Waiting')] };
  expect(findTransition(before, before)).toBeUndefined();
  const next = {
    phase: 'B',
    conditions: [condition('Ready', 'False', 'Waiting', 'The next step.')],
  };
  expect(findTransition(before, next)).toMatchObject({
    type: 'Normal',
    reason: 'Waiting',
    note: 'The next step.',
  });
  const stalled = {
    phase: 'A',
    conditions: [condition('Ready', 'False', 'Broken'), condition('Stalled', 'True', 'Broken')],
  };
  expect(findTransition(before, stalled)).toMatchObject({ type: 'Warning', reason: 'Broken' });
});

test('a failure that was told while it could still pass is told again when it is one', () => {
  const passing = {
    phase: 'A',
    conditions: [condition('Ready', 'False', 'ImagePullFailed', 'Not yet.')],
  };
  const failed = {
    phase: 'A',
    conditions: [
      condition('Ready', 'False', 'ImagePullFailed'),
      condition('Stalled', 'True', 'ImagePullFailed'),
    ],
  };
  expect(findTransition(passing, failed)).toMatchObject({
    type: 'Warning',
    reason: 'ImagePullFailed',
  });
  expect(findTransition(failed, failed)).toBeUndefined();
});

test('no event says that what is new is not there yet, nor the same sentence twice', () => {
  const waiting = { phase: 'A', conditions: [condition('Ready', 'False', 'Waiting')] };
  expect(findTransition(undefined, waiting)).toBeUndefined();
  expect(findTransition({ observedGeneration: -1 }, waiting)).toBeUndefined();
  expect(findTransition(waiting, { ...waiting, phase: 'B' })).toBeUndefined();
  const ready = { phase: 'A', conditions: [condition('Ready', 'True', 'Serving')] };
  expect(findTransition(undefined, ready)).toMatchObject({ type: 'Normal', reason: 'Serving' });
  expect(findTransition(ready, waiting)).toMatchObject({ type: 'Normal', reason: 'Waiting' });
});

test('what is on its way is an event where it ends what was ready, not where it goes on', () => {
  const [waiting, underWay, ready] = [
    { phase: 'A', conditions: [condition('Ready', 'False', 'DatabaseNotReady')] },
    {
      phase: 'B',
      conditions: [condition('Ready', 'False', 'RollingOut', 'The pods are starting.')],
    },
    { phase: 'C', conditions: [condition('Ready', 'True', 'Serving')] },
  ];
  expect(findTransition(waiting, underWay)).toBeUndefined();
  expect(findTransition(underWay, ready)).toMatchObject({ reason: 'Serving' });
  expect(findTransition(ready, underWay)).toMatchObject({ type: 'Normal', reason: 'RollingOut' });
});

test('the event of a failure ends with the last log lines, as many as it takes', () => {
  const stalled = {
    type: 'Stalled',
    status: 'True' as const,
    reason: 'CrashLooping',
    message: 'It ends.',
    lastTransitionTime: '',
  };
  const failed = {
    phase: 'DEPLOY_FAILED',
    conditions: [{ ...stalled, type: 'Ready', status: 'False' as const }, stalled],
  };
  expect(findTransition(undefined, { ...failed, logTail: 'a\nlast\n' })).toMatchObject({
    type: 'Warning',
    note: 'It ends.\na\nlast',
  });
  const long =
    findTransition(undefined, { ...failed, logTail: `${'x'.repeat(5000)}last` })?.note ?? '';
  expect([long.length, long.slice(0, 9), long.slice(-4)]).toEqual([1024, 'It ends.\n', 'last']);
  expect(findTransition(undefined, failed)?.note).toBe('It ends.');
});
