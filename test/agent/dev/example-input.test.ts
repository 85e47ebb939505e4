import { expect, test } from 'vitest';
import { buildExampleInput } from '../../../src/agent/dev/example-input.ts';

const TALK = { messages: [{ role: 'human', content: 'hello' }] };

test.each([
  [undefined, TALK],
  [{}, TALK],
  [
    { properties: { messages: { type: 'array' }, other: { type: 'string' } }, required: ['other'] },
    TALK,
  ],
  [
    { properties: { research_topic: { type: 'string', default: null } } },
    { research_topic: 'hello' },
  ],
  [
    {
      properties: {
        a: { type: 'integer' },
        b: { anyOf: [{ type: 'null' }, { type: 'boolean' }] },
        c: {},
      },
      required: ['a', 'b'],
    },
    { a: 1, b: true },
  ],
  [
    { properties: { mood: { enum: ['good', 'bad'] }, other: { type: 'string' } } },
    { mood: 'good' },
  ],
])('the printed request fits what the graph takes: %j', (schema, input) => {
  expect(buildExampleInput(schema)).toEqual(input);
});
