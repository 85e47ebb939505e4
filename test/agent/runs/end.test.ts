import { expect, test } from 'vitest';
import {
  decideGraphEnd,
  endWithoutGraph,
  buildRefusedEnd,
  type End,
  type FinishEnd,
  type StopReason,
} from '../../../src/agent/runs/executing/end.ts';
import type { ThreadLoss } from '../../../src/agent/graphs/thread.ts';
import { isUnfinished } from '../../../src/schema/agent/run.ts';
import type { Outcome } from '../../../src/schema/wire/wall/run-in-thread.ts';

const facts = { alone: false, temporary: false, timeoutSeconds: 60 };
const success: Outcome = { status: 'success', waiting: false };
const stopped: Outcome = { status: 'interrupted', waiting: false };
const boo: Outcome = {
  status: 'error',
  waiting: false,
  error: { error: 'TypeError', message: 'Boo!' },
};

test.each<[string, Outcome, StopReason | undefined, Partial<FinishEnd> | Partial<End>]>([
  [
    'a finished graph succeeds and its thread rests',
    success,
    undefined,
    { status: 'success', rest: 'idle' },
  ],
  [
    'a graph that waits for a person succeeds, and its thread is interrupted',
    { ...success, waiting: true },
    undefined,
    { status: 'success', rest: 'interrupted' },
  ],
  [
    'a graph that throws ends in error',
    boo,
    undefined,
    { status: 'error', rest: 'error', error: boo.error! },
  ],
  ['a stopped run is interrupted', stopped, 'interrupt', { status: 'interrupted', rest: 'idle' }],
  [
    'a stopped run with steps left leaves its thread interrupted',
    { ...stopped, waiting: true },
    'interrupt',
    { status: 'interrupted', rest: 'interrupted' },
  ],
  [
    'a run that was stopped is interrupted, even when its graph was done',
    success,
    'interrupt',
    { status: 'interrupted' },
  ],
  [
    'a run that was stopped is interrupted, even when its graph failed',
    boo,
    'interrupt',
    { status: 'interrupted', error: null },
  ],
  [
    'a rolled back run is deleted, even when it was done',
    success,
    'rollback',
    { kind: 'roll-back' },
  ],
  [
    'a run that took too long ends in error',
    stopped,
    'timeout',
    { status: 'error', rest: 'error' },
  ],
  [
    'a shutdown hands an unfinished run back, and it costs no life',
    stopped,
    'shutdown',
    { kind: 'hand-back', losesLife: false },
  ],
  [
    'a run whose checkpoints could not be written is tried again, one life poorer',
    { ...stopped, retry: true },
    undefined,
    { kind: 'hand-back', alone: false, losesLife: true },
  ],
  [
    'what the graph says of the thread goes along',
    { ...success, values: '{}', interrupts: '[]' },
    undefined,
    { values: '{}', interrupts: '[]' },
  ],
  [
    'a run that stopped between two steps goes on elsewhere, and it costs no life',
    { ...stopped, drained: true },
    undefined,
    { kind: 'hand-back', alone: false, losesLife: false },
  ],
  [
    'one that a client stopped meanwhile is interrupted, and its state has to be asked',
    { ...stopped, drained: true },
    'interrupt',
    { status: 'interrupted', stateUnknown: true },
  ],
  [
    'a run that its thread found to be lost is forgotten',
    { ...stopped, lost: true },
    'interrupt',
    { kind: 'forget' },
  ],
  ['a shutdown keeps the end of a finished run', success, 'shutdown', { status: 'success' }],
  ['a run that another worker has taken over is forgotten', success, 'lost', { kind: 'forget' }],
])('%s', (_, outcome, reason, expected) => {
  expect(decideGraphEnd(outcome, reason, facts)).toMatchObject(expected);
});

test.each<
  [string, ThreadLoss | 'crashed alone', StopReason | undefined, Partial<FinishEnd> | Partial<End>]
>([
  [
    "a run goes on elsewhere when its thread ended for another run's sake",
    'killed',
    undefined,
    { kind: 'hand-back', alone: false },
  ],
  [
    'one of several in a thread that crashed goes on in a thread of its own',
    'crashed',
    undefined,
    { alone: true, losesLife: false },
  ],
  [
    'one that crashed a thread of its own loses a life',
    'crashed alone',
    undefined,
    { alone: true, losesLife: true },
  ],
  [
    'a thread that is ended with the process costs nothing',
    'killed',
    'shutdown',
    { kind: 'hand-back', losesLife: false },
  ],
  [
    'one that did not obey is interrupted, and its state has to be asked',
    'killed',
    'interrupt',
    { status: 'interrupted', stateUnknown: true },
  ],
  [
    'one that overran its time ends in error',
    'killed',
    'timeout',
    { status: 'error', stateUnknown: true },
  ],
  ['one that was to be undone is', 'crashed', 'rollback', { kind: 'roll-back' }],
  ['one that another worker has is forgotten', 'crashed', 'lost', { kind: 'forget' }],
])('%s', (_, loss, reason, expected) => {
  const alone = loss === 'crashed alone';
  expect(endWithoutGraph(alone ? 'crashed' : loss, reason, { ...facts, alone })).toMatchObject(
    expected,
  );
});

test('pending and running runs are unfinished', () => {
  expect(
    ['pending', 'running', 'success', 'error', 'interrupted'].filter((status) =>
      isUnfinished(status as 'pending'),
    ),
  ).toEqual(['pending', 'running']);
});

test('a result that can not be stored is an error that tells why', () => {
  expect(buildRefusedEnd(new Error('field too large'))).toEqual({
    kind: 'finish',
    status: 'error',
    error: {
      error: 'ResultNotStored',
      message: 'The database refused the result of the run: field too large.',
    },
    rest: 'error',
    values: undefined,
    interrupts: undefined,
    stateUnknown: false,
  });
});
