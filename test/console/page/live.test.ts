import { describe, expect, test } from 'vitest';
import { describeEnding, describeRefusal } from '../../../src/console/page/api/refusal.ts';
import { pauseBefore } from '../../../src/console/page/live/backoff.ts';
import { readEventBlocks } from '../../../src/console/page/live/event-blocks.ts';
import { isNewer } from '../../../src/console/page/live/newer.ts';

const STREAM =
  'event: ready\r\ndata: {}\r\nid: a.1\r\n\r\n: heartbeat\r\n\r\nevent: gone\r\ndata: {"id":"x"}\r\n\r\n';

describe('an event stream', () => {
  test.each([1, 2, 7, STREAM.length])('is read in pieces of %i letters', async (size) => {
    async function* pieces(): AsyncGenerator<string> {
      for (let at = 0; at < STREAM.length; at += size) yield STREAM.slice(at, at + size);
    }
    expect(await Array.fromAsync(readEventBlocks(pieces()))).toEqual([
      { event: 'ready', id: 'a.1', text: '{}' },
      { event: 'gone', id: undefined, text: '{"id":"x"}' },
    ]);
  });

  test('is tried again after pauses that grow to a quarter of a minute', () => {
    expect([pauseBefore(0, 0), pauseBefore(0, 1), pauseBefore(3, 1), pauseBefore(50, 1)]).toEqual([
      250, 500, 4000, 15_000,
    ]);
  });
});

test.each([
  ['10', '9', true],
  ['9', '10', false],
  ['9007199254740993', '9007199254740992', true],
  ['5', '5', false],
])('version %s is newer than %s: %s', (one, other, newer) => {
  expect(isNewer(one, other)).toBe(newer);
});

test.each([
  [404, { detail: 'Deployment ID 1 not found.' }, 'Deployment ID 1 not found.'],
  [
    422,
    { detail: [{ loc: ['body', 'sleep', 'after_seconds'], msg: 'must be >= 60' }] },
    'sleep.after_seconds: must be >= 60',
  ],
  [403, undefined, 'This key may not do that.'],
  [502, '<html>', 'The control plane does not answer as it should (502). Try again in a moment.'],
  [409, { detail: [] }, 'The request was refused (409).'],
])('a refusal by %i is shown as a sentence', (status, body, text) => {
  expect(describeRefusal(status, body)).toBe(text);
});

test('a session that has ended says why, and one that has not begun says nothing', () => {
  expect(describeEnding('revoked')).toContain('no longer valid');
  expect(describeEnding('some other reason')).toContain('Sign in again');
  expect(describeEnding(undefined)).toBeUndefined();
});
