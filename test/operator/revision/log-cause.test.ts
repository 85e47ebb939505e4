import { expect, test } from 'vitest';
import { explainByLog } from '../../../src/operator/revision/log-cause.ts';

const loop = {
  reason: 'CrashLooping',
  message: 'Container agent ends with exit code 255 again and again.',
} as const;

test.each([
  [
    'exec /usr/bin/tini: exec format error\n',
    /again and again\. The image is for another processor/,
  ],
  [
    'starting\nexec /usr/bin/tini: argument list too long',
    /again and again\. Its environment is too large/,
  ],
])('what a runtime wrote to the log alone is in the sentence: %j', (log, sentence) => {
  expect(explainByLog(loop, log)).toMatch(sentence);
});

test('so is what another runtime reports as the state of the container', () => {
  const message = `Container agent can't be started: failed to start: exec: "/usr/bin/tini": exec format error`;
  expect(explainByLog({ ...loop, message }, undefined)).toContain(
    'exec format error. The image is for another processor',
  );
});

test('other logs and other reasons leave the sentence as it is', () => {
  expect(explainByLog(loop, 'exec format error\nTraceback')).toBe(loop.message);
  expect(explainByLog(loop, undefined)).toBe(loop.message);
  expect(explainByLog({ reason: 'ProbeFailed', message: 'm' }, 'exec format error')).toBe('m');
});
