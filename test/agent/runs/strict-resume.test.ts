import { expect, test } from 'vitest';
import { isAnswerAwaited, readStrictAnswer } from '../../../src/agent/kernel/strict-resume.ts';

const ID = '0123456789abcdef0123456789abcdef';
const OTHER = 'f123456789abcdef0123456789abcdef';

test.each([
  [{ command: { resume: { [ID]: 'yes' } } }, undefined],
  [{ strict_resume: true, input: {} }, undefined],
  [{ strict_resume: true, command: { resume: null } }, undefined],
  [
    { strict_resume: true, command: { resume: { [ID]: 'yes', [OTHER]: null } } },
    { ids: [ID, OTHER] },
  ],
  [{ strict_resume: true, command: { resume: {} } }, { ids: [] }],
  [{ strict_resume: true, command: { resume: { decisions: [] } } }, 'the only one'],
  [{ strict_resume: true, command: { resume: 'yes' } }, 'the only one'],
])('the run %j answers %j', (body, answer) => {
  expect(readStrictAnswer(body)).toEqual(answer);
});

test('an answer is for questions that wait', () => {
  const on = (...waiting: string[]) => ({ waiting, runs: 1 });
  expect(isAnswerAwaited({ ids: [ID] }, on(OTHER, ID))).toBe(true);
  expect(isAnswerAwaited({ ids: [ID, OTHER] }, on(ID))).toBe(false);
  expect(isAnswerAwaited({ ids: [] }, on(ID))).toBe(false);
  expect(isAnswerAwaited('the only one', on(ID))).toBe(true);
  expect(isAnswerAwaited('the only one', on(ID, OTHER))).toBe(false);
  expect(isAnswerAwaited('the only one', on())).toBe(false);
  expect(isAnswerAwaited({ runs: 1 }, on())).toBe(true);
  expect(isAnswerAwaited({ runs: 1 }, { waiting: [], runs: 2 })).toBe(false);
});
