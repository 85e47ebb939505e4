import { expect, test } from 'vitest';
import type { Outcome } from '../../../src/agent/threads/protocol.ts';
import { endOf, isUnfinished, refusedEnd, type End, type StopReason } from '../../../src/agent/runs/status.ts';

const success: Outcome = { status: 'success', waiting: false };
const stopped: Outcome = { status: 'interrupted', waiting: false };
const boo: Outcome = { status: 'error', waiting: false, error: { error: 'TypeError', message: 'Boo!' } };

test.each<[string, Outcome, StopReason | undefined, Partial<Extract<End, { kind: 'finish' }>> | { kind: End['kind'] }]>([
  ['a finished graph succeeds and its thread rests', success, undefined, { status: 'success', rest: 'idle' }],
  [
    'a graph that waits for a person succeeds, and its thread is interrupted',
    { ...success, waiting: true },
    undefined,
    { status: 'success', rest: 'interrupted' },
  ],
  ['a graph that throws ends in error', boo, undefined, { status: 'error', rest: 'error', error: boo.error! }],
  ['a stopped run is interrupted', stopped, 'interrupt', { status: 'interrupted', rest: 'idle' }],
  [
    'a stopped run with steps left leaves its thread interrupted',
    { ...stopped, waiting: true },
    'interrupt',
    { status: 'interrupted', rest: 'interrupted' },
  ],
  ['a graph that was done before the stop arrived has succeeded', success, 'interrupt', { status: 'success' }],
  ['a rolled back run is deleted, even when it was done', success, 'rollback', { kind: 'delete' }],
  ['a run that took too long ends in error', stopped, 'timeout', { status: 'error', rest: 'error' }],
  ['a shutdown hands an unfinished run back', stopped, 'shutdown', { kind: 'hand-back' }],
  ['a run whose checkpoints could not be written is tried again', { ...stopped, retry: true }, undefined, { kind: 'hand-back' }],
  ['a shutdown keeps the end of a finished run', success, 'shutdown', { status: 'success' }],
  ['a run that another worker has taken over is forgotten', success, 'lost', { kind: 'forget' }],
])('%s', (_, outcome, reason, expected) => {
  expect(endOf(outcome, reason, 60)).toMatchObject(expected);
});

test('pending and running runs are unfinished', () => {
  expect(
    ['pending', 'running', 'success', 'error', 'timeout', 'interrupted'].filter((status) => isUnfinished(status as 'pending')),
  ).toEqual(['pending', 'running']);
});

test('a result that can not be stored is an error that tells why', () => {
  expect(refusedEnd(new Error('field too large'))).toEqual({
    kind: 'finish',
    status: 'error',
    error: { error: 'ResultNotStored', message: 'The database refused the result of the run: field too large.' },
    rest: 'error',
  });
});
