import { expect, test } from 'vitest';
import { buildRunSpanEnd } from '../../../src/agent/runs/executing/span.ts';

const attempt = { kwargs: { input: { a: 1 } } as never };
const said = { values: undefined, interrupts: undefined, stateUnknown: false };

test.each([
  [
    'succeeded',
    { kind: 'finish', status: 'success', error: null, rest: 'idle', ...said },
    'success',
    undefined,
  ],
  [
    'failed',
    {
      kind: 'finish',
      status: 'error',
      error: { error: 'RangeError', message: 'no' },
      rest: 'error',
      ...said,
    },
    'error',
    'no',
  ],
  ['was rolled back', { kind: 'roll-back' }, 'rolled back', undefined],
  [
    'was handed back',
    { kind: 'hand-back', alone: false, losesLife: false },
    'handed back',
    undefined,
  ],
  ['was taken over', { kind: 'forget' }, 'lost', undefined],
] as const)('the span of a run that %s', (_, end, told, error) => {
  const span = buildRunSpanEnd(attempt, end, false);
  expect([span?.attributes?.['gx.run_end'], span?.error]).toEqual([told, error]);
});
