import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readAnswerUsage } from '../../../../src/agent/graph-thread/read-usage.ts';
import { buildExpected, CASES } from '../cases.ts';
import type { Recorded } from '../record/main.ts';

/* Answers as the packages of the providers tell them to a callback. Those of Python: test/python/usage.test.ts. */

const RECORDED = JSON.parse(readFileSync('test/agent/usage/answers.json', 'utf8')) as Recorded[];

test.each(RECORDED)('$name, streamed: $streamed', ({ name, streamed, javascript }) => {
  const one = CASES.find((other) => other.name === name)!;
  const { model = one.model, ...told } = readAnswerUsage(javascript.output, javascript.cached);
  expect([model, told]).toEqual([
    one.model,
    buildExpected(one, { language: 'javascript', streamed }),
  ]);
});

test('sixty answers are recorded', () => expect(RECORDED).toHaveLength(60));

test.each([
  ['nothing', undefined],
  ['a text', 'hello'],
  ['no generations', {}],
  ['an empty list', { generations: [] }],
  ['a count below zero', buildCounted({ input_tokens: -5, output_tokens: -1 })],
  ['counts that are texts', buildCounted({ input_tokens: '5', output_tokens: '6' })],
  ['a fraction', buildCounted({ input_tokens: 1.5, output_tokens: Number.NaN })],
  ['more than there can be', buildCounted({ input_tokens: 2 ** 53, output_tokens: 0 })],
])('%s tells no tokens', (_name, output) => expect(readAnswerUsage(output).tokens).toBeUndefined());

function buildCounted(usage_metadata: object): object {
  return { generations: [[{ message: { usage_metadata, response_metadata: {} } }]] };
}
