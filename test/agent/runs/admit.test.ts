import { expect, test } from 'vitest';
import { admit } from '../../../src/agent/runs/making/admit.ts';

test.each([
  [
    'a run on an idle thread starts, whatever its strategy',
    'reject',
    0,
    { admitted: true, stop: undefined },
  ],
  ['a second run waits by default', 'enqueue', 1, { admitted: true, stop: undefined }],
  ['reject refuses on a busy thread', 'reject', 1, { admitted: false }],
  ['interrupt stops those before it', 'interrupt', 2, { admitted: true, stop: 'interrupt' }],
  ['rollback undoes those before it', 'rollback', 1, { admitted: true, stop: 'rollback' }],
] as const)('%s', (_, strategy, unfinished, expected) => {
  expect(admit(strategy, unfinished)).toEqual(expected);
});
