import { expect, test } from 'vitest';
import {
  buildFormExample,
  buildFirstMessage,
} from '../../../src/console/page/studio/forms/form-example.ts';
import { readFormFields } from '../../../src/console/page/studio/forms/schema-fields.ts';

const messages = [{ role: 'user', content: 'Hello! What can you do?' }];

test('an example has a value of the kind of each field', () => {
  const fields = readFormFields({
    type: 'object',
    properties: {
      messages: { type: 'array' },
      topic: { type: 'string' },
      tone: { enum: ['dry', 'warm'] },
      words: { type: 'integer', default: 3 },
      share: { type: 'number' },
      asks: { type: 'boolean' },
      more: { type: 'object' },
    },
  });
  expect(buildFormExample(fields)).toEqual({
    messages,
    topic: 'some words',
    tone: 'dry',
    words: 3,
    share: 1.5,
    asks: true,
    more: {},
  });
  expect(buildFirstMessage(fields)).toBe('Hello! What can you do?');
});

test('a graph without a schema takes a message, and one without messages takes none', () => {
  expect(buildFormExample(undefined)).toEqual({ messages });
  expect(buildFirstMessage(undefined)).toBe('Hello! What can you do?');
  expect(
    buildFirstMessage(readFormFields({ type: 'object', properties: { topic: {} } })),
  ).toBeUndefined();
});
