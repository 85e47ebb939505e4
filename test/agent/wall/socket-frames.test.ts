import { expect, test } from 'vitest';
import {
  SocketFrames,
  encodeSocketFrame,
  type SocketMessage,
} from '../../../src/schema/wire/wall/socket-frames.ts';

const messages: SocketMessage[] = [
  { form: 'text', data: Buffer.from('Grüße 🌍') },
  { form: 'bytes', data: Buffer.alloc(0) },
  { form: 'bytes', data: Buffer.from([0, 1, 255]) },
  { form: 'close', code: 4321, reason: 'as you wish 🌍' },
];
const whole = Buffer.concat(messages.map(encodeSocketFrame));

const read = (pieces: Uint8Array[], most = 100): SocketMessage[] => {
  const frames = new SocketFrames(most);
  return pieces.flatMap((piece) => frames.push(piece));
};

test.each([1, 2, 7, whole.length])(
  'messages of a WebSocket arrive as they were sent, in pieces of %s bytes',
  (size) => {
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
      whole.subarray(at * size, (at + 1) * size),
    );
    expect(read(pieces)).toEqual(messages);
  },
);

test('a message that is too long is refused before it is there', () => {
  const frame = encodeSocketFrame({ form: 'bytes', data: Buffer.alloc(101) });
  expect(() => read([frame.subarray(0, 5)])).toThrow('A message of 101 bytes is longer than 100.');
  expect(read([encodeSocketFrame({ form: 'bytes', data: Buffer.alloc(100) })])).toHaveLength(1);
});
