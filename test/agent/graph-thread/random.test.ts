import type { webcrypto } from 'node:crypto';
import { expect, test } from 'vitest';
import { cacheRandomBytes } from '../../../src/agent/graph-thread/random.ts';

/** A generator that counts on, so that each byte tells whether it was given before. */
function counting(): Pick<webcrypto.Crypto, 'getRandomValues'> & { asked: number[] } {
  let last = 0;
  const asked: number[] = [];
  const getRandomValues = <T extends ArrayBufferView>(array: T): T => {
    const bytes = new DataView(array.buffer, array.byteOffset, array.byteLength);
    for (let at = 0; at + 4 <= array.byteLength; at += 4) bytes.setUint32(at, (last += 1));
    asked.push(array.byteLength);
    return array;
  };
  return { getRandomValues, asked };
}

test('each small request for random bytes gets bytes of its own, and few reach the generator', () => {
  const crypto = counting();
  cacheRandomBytes(crypto);
  const given = Array.from({ length: 1000 }, () =>
    Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex'),
  );
  expect(new Set(given).size).toBe(1000);
  expect(crypto.asked).toEqual([4096, 4096, 4096, 4096]);
  const array = new Uint8Array(12);
  expect(crypto.getRandomValues(array)).toBe(array);
  expect(array.some((byte) => byte !== 0)).toBe(true);
});

test('large requests and other numbers go to the generator', () => {
  const crypto = counting();
  cacheRandomBytes(crypto);
  crypto.getRandomValues(new Uint8Array(65));
  crypto.getRandomValues(new Uint32Array(4));
  expect(crypto.asked).toEqual([65, 16]);
});
