import { expect, test } from 'vitest';
import { shareOut, splitShares } from '../../../../src/agent/db/base/shares.ts';

test.each([
  [
    'nobody counts',
    { connections: undefined, poolSize: 20, threads: 4 },
    { server: 20, threads: 4, perThread: 5 },
  ],
  [
    'the least there can be',
    { connections: 5, poolSize: 20, threads: 4 },
    { server: 2, threads: 1, perThread: 2 },
  ],
  ['some', { connections: 11, poolSize: 20, threads: 4 }, { server: 2, threads: 4, perThread: 2 }],
  [
    'what two small pods get',
    { connections: 22, poolSize: 20, threads: 1 },
    { server: 16, threads: 1, perThread: 5 },
  ],
  [
    'plenty',
    { connections: 44, poolSize: 20, threads: 4 },
    { server: 20, threads: 4, perThread: 5 },
  ],
])('connections of a process: %s', (_, given, expected) => {
  expect(shareOut(given)).toEqual(expected);
});

test('a process never opens more than it may', () => {
  for (let connections = 5; connections <= 100; connections += 1) {
    for (const threads of [1, 2, 4, 8]) {
      const { server, perThread, threads: used } = shareOut({ connections, poolSize: 20, threads });
      expect(1 + server + used * perThread).toBeLessThanOrEqual(connections);
      expect(Math.min(server, perThread)).toBeGreaterThanOrEqual(2);
    }
  }
});

test.each([
  [4, { javascript: 4, python: 0 }, { javascript: 4, python: 0 }],
  [2, { javascript: 0, python: 2 }, { javascript: 0, python: 2 }],
  [5, { javascript: 4, python: 1 }, { javascript: 4, python: 1 }],
  [6, { javascript: 4, python: 3 }, { javascript: 4, python: 2 }],
  [3, { javascript: 4, python: 3 }, { javascript: 2, python: 1 }],
  [2, { javascript: 4, python: 3 }, { javascript: 1, python: 1 }],
])('of %i threads, each language has at least one: %j', (threads, wanted, expected) => {
  expect(splitShares({ server: 10, perThread: 2, threads }, wanted)).toMatchObject(expected);
});

test('one thread is not enough for two languages', () => {
  expect(
    splitShares({ server: 2, perThread: 2, threads: 1 }, { javascript: 4, python: 1 }),
  ).toBeUndefined();
});
