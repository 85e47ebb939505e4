import { expect, test } from 'vitest';
import { Unavailable } from '../../../src/errors.ts';
import { delayBefore, isWorthAnotherTry, sendWithRetries } from '../../../src/kube/retry.ts';

const answer = (status: number) => ({ status, headers: { 'retry-after': '0.001' }, body: '' });
const broken = (code: string) => Object.assign(new Error(code), { code });

/** Sends what it is given, one after another. */
function script(...steps: (number | string)[]) {
  let sent = 0;
  const send = (): Promise<ReturnType<typeof answer>> => {
    const step = steps[sent] ?? steps.at(-1);
    sent += 1;
    return typeof step === 'number'
      ? Promise.resolve(answer(step))
      : Promise.reject(broken(String(step)));
  };
  return { send, sent: () => sent };
}

test.each<[string, number, boolean, boolean]>([
  ['too many requests', 429, false, true],
  ['a failure of a request that may be repeated', 503, true, true],
  ['a failure of one that may not', 503, false, false],
  ['a refusal', 422, true, false],
  ['an answer', 200, true, false],
])('%s', (_, status, idempotent, expected) => {
  expect(isWorthAnotherTry(status, idempotent)).toBe(expected);
});

test('the server says how long to wait, within reason; else delays double', () => {
  expect([delayBefore(0, '2', 0), delayBefore(0, '9999', 0), delayBefore(2, undefined, 0)]).toEqual(
    [2000, 10_000, 1000],
  );
  expect(delayBefore(0, undefined, 1)).toBe(375);
});

test('a request that was turned away goes through in the end', async () => {
  const { send, sent } = script(429, 429, 201);
  expect((await sendWithRetries(send, { idempotent: false })).status).toBe(201);
  expect(sent()).toBe(3);
});

test('a broken connection is repeated only where that does no harm', async () => {
  const reading = script('ECONNRESET', 200);
  expect((await sendWithRetries(reading.send, { idempotent: true })).status).toBe(200);
  const making = script('ECONNRESET', 200);
  await expect(sendWithRetries(making.send, { idempotent: false })).rejects.toBeInstanceOf(
    Unavailable,
  );
  expect(making.sent()).toBe(1);
});
