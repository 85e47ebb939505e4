import { webcrypto } from 'node:crypto';

/*
 * LangGraph and LangChain make dozens of ids a run, and ask for 16 random bytes for each. A call of the generator costs
 * some 4 microseconds however few bytes it gives, which was 4 % of this thread's time.
 */

/** Bytes that are taken from the generator at a time, and the most that one caller gets of them. */
const TAKEN = 4096;
const MOST = 64;

/** Serves small requests for random bytes from a supply that the same generator fills. No byte is given twice. */
export function cacheRandomBytes(
  crypto: Pick<webcrypto.Crypto, 'getRandomValues'> = webcrypto,
): void {
  const generate = crypto.getRandomValues.bind(crypto);
  const supply = new Uint8Array(TAKEN);
  let next = TAKEN;
  const getRandomValues: webcrypto.Crypto['getRandomValues'] = (array) => {
    if (!(array instanceof Uint8Array) || array.length > MOST) return generate(array);
    if (next + array.length > TAKEN) {
      generate(supply);
      next = 0;
    }
    const given = supply.subarray(next, next + array.length);
    array.set(given);
    given.fill(0);
    next += array.length;
    return array;
  };
  Object.defineProperty(crypto, 'getRandomValues', {
    value: getRandomValues,
    configurable: true,
    writable: true,
  });
}
