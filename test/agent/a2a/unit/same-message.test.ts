import type { Message, Part } from '@a2a-js/sdk';
import { expect, test } from 'vitest';
import { buildMessageKey } from '../../../../src/agent/a2a/send-message.ts';

const part = (content: Part['content'], more: Partial<Part> = {}): Part => ({
  content,
  metadata: {},
  filename: '',
  mediaType: '',
  ...more,
});
const file = (bytes: string, more: Partial<Part> = {}): Part =>
  part({ $case: 'raw', value: Buffer.from(bytes) }, more);

function keyOf(...parts: Part[]): string {
  const message = { messageId: 'm', contextId: '', taskId: '', parts } as unknown as Message;
  return buildMessageKey(message, 'somebody', 'an assistant').key.toString('hex');
}

test.each([
  ['words', part({ $case: 'text', value: 'a' }), part({ $case: 'text', value: 'b' })],
  ['data', part({ $case: 'data', value: { a: 1 } }), part({ $case: 'data', value: { a: 2 } })],
  ['a file', file('a'), file('b')],
  [
    'the address of a file',
    part({ $case: 'url', value: 'https://a.example' }),
    part({ $case: 'url', value: 'https://b.example' }),
  ],
  [
    'the type of a file',
    file('a', { mediaType: 'image/png' }),
    file('a', { mediaType: 'image/gif' }),
  ],
])('a message with the same id is the same one, unless %s differs', (_what, one, other) => {
  expect(keyOf(one)).toBe(keyOf({ ...one }));
  expect(keyOf(one)).not.toBe(keyOf(other));
});
