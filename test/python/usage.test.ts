import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, inject, test } from 'vitest';
import type { AnswerUsage } from '../../src/agent/graph-thread/read-usage.ts';
import { buildExpected, CASES } from '../agent/usage/cases.ts';
import type { Recorded } from '../agent/usage/record/main.ts';

const ANSWERS = 'test/agent/usage/answers.json';

test('the answers of providers tell Python the same as JavaScript', () => {
  const recorded = JSON.parse(readFileSync(ANSWERS, 'utf8')) as Recorded[];
  const output = execFileSync(`${inject('python')}/python`, ['test/python/usage.py', ANSWERS], {
    env: { PYTHONPATH: resolve('python') },
  });
  const told = JSON.parse(output.toString()) as AnswerUsage[];
  const asked = recorded.map(({ name }) => CASES.find((other) => other.name === name)!);
  // A call whose answer names no model has the one that was asked for.
  expect(told.map((one, at) => ({ model: asked[at]!.model, ...one }))).toEqual(
    recorded.map(({ streamed }, at) => ({
      model: asked[at]!.model,
      ...buildExpected(asked[at]!, { language: 'python', streamed }),
    })),
  );
});
