import { expect, test } from 'vitest';
import { stageFailureOf } from '../../../src/builder/progress.ts';
import { formatTerminationMessage } from '../../../src/schema/wire/termination-message.ts';
import { StageFailed } from '../../../src/errors.ts';

test('a failure has the reason that its error names, or that of its stage', () => {
  expect(stageFailureOf('clone', new StageFailed('RefMissing', 'no such branch'))).toEqual({
    reason: 'RefMissing',
    message: 'no such branch',
  });
  expect(stageFailureOf('push', new Error('broken'))).toEqual({
    reason: 'PushFailed',
    message: 'broken',
  });
});

test.each(['x'.repeat(10_000), '\u0001'.repeat(10_000), 'ü'.repeat(10_000), '\n"\\'.repeat(5000)])(
  'a termination message has at most 2,048 bytes, and stays JSON',
  (message) => {
    const text = formatTerminationMessage({ reason: 'BuildFailed', message });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048);
    const read = JSON.parse(text) as { reason: string; message: string };
    expect(read.reason).toBe('BuildFailed');
    expect(read.message.length).toBeGreaterThan(100);
  },
);
