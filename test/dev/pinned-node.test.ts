import { expect, test } from 'vitest';

/*
 * V8 of Node 24.15 to 24.21 took an escaped key for another one, if an object with that other key had been read before
 * (https://github.com/nodejs/node/issues/63785). What one tenant sends would change what another one's request says.
 */
test.each(['"', '\n', '\r', '\f'])(
  'the escaped key %j is read as it is written, whatever keys were read before',
  (key) => {
    for (let round = 0; round < 50; round++) {
      const first = `of ${JSON.stringify(key)}, ${round}`;
      JSON.parse(JSON.stringify({ [first]: [], '\\': 0 }));
      const read: unknown = JSON.parse(JSON.stringify({ [first]: 1, [key]: 2 }));
      expect(Object.keys(read as object)).toEqual([first, key]);
    }
  },
);
