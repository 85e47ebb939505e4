import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { streamWhileAllowed } from '../../src/http/routes/while-allowed.ts';
import { Forbidden, Unauthorized, Unavailable } from '../../src/errors.ts';
import type { SseEvent } from '../../src/http/routes/route.ts';

/** One event, then silence until somebody leaves. */
async function* endless(signal: AbortSignal): AsyncGenerator<SseEvent> {
  yield { event: 'first', data: {} };
  await wait(60_000, undefined, { signal }).catch(() => undefined);
}

const read = (
  again: () => Promise<unknown>,
  signal = new AbortController().signal,
): Promise<unknown[]> => Array.fromAsync(streamWhileAllowed(endless, { signal, again, every: 1 }));

test.each([
  ['the key was revoked', 'refused', new Unauthorized('The API key is not known.')],
  ['the token lost its right', 'refused', new Forbidden('no role')],
  ['nobody could check the key for too long', 'unchecked', new Unavailable('away')],
])('a stream ends and says so when %s', async (_, reason, refusal) => {
  expect(await read(() => Promise.reject(refusal))).toEqual([
    { event: 'first', data: {} },
    { event: 'end', data: { reason } },
  ]);
});

test('a stream goes on while checks fail for reasons of our own, and ends in silence when the client leaves', async () => {
  const leaving = new AbortController();
  let looks = 0;
  const again = (): Promise<void> => {
    looks += 1;
    if (looks === 5) leaving.abort();
    return looks % 2 === 0 ? Promise.resolve() : Promise.reject(new Error('a fault'));
  };
  expect(await read(again, leaving.signal)).toEqual([{ event: 'first', data: {} }]);
});

test('a source that does not hear its signal says no more once the caller is refused', async () => {
  async function* deaf(): AsyncGenerator<SseEvent> {
    for (let count = 0; count < 100; count += 1) {
      yield { event: 'tick', data: count };
      await wait(5);
    }
  }
  const again = (): Promise<unknown> =>
    Promise.reject(new Unauthorized('The API key is not known.'));
  const { signal } = new AbortController();
  const events = await Array.fromAsync(streamWhileAllowed(deaf, { signal, again, every: 20 }));
  expect(events.at(-1)).toEqual({ event: 'end', data: { reason: 'refused' } });
  expect(events.length).toBeLessThan(90);
});
