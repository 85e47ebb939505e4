import { expect, test } from 'vitest';
import { decideCollection, STARTED, type Rest } from '../src/at-rest.ts';

const MB = 1024 * 1024;
const fresh: Rest = { looks: 0, heap: 0 };

/** What becomes of a thread after several looks. */
const after = (rest: Rest, ...looks: [utilization: number, megabytes: number][]) =>
  looks.reduce(
    (last, [utilization, megabytes]) =>
      decideCollection(last, { utilization, heap: megabytes * MB }),
    { ...rest, collect: false },
  );

test('a thread that rests after its start collects at its first look what loading left behind', () => {
  expect(after(STARTED, [0.01, 60]).collect).toBe(true);
  expect(after(STARTED, [0.5, 60], [0.01, 60]).collect).toBe(false);
});

test('a thread that had nothing to do three looks in a row collects what its work left behind', () => {
  expect(after(fresh, [0.01, 60], [0.01, 60]).collect).toBe(false);
  expect(after(fresh, [0.01, 60], [0.01, 60], [0.01, 60]).collect).toBe(true);
});

test('work in between begins the count anew', () => {
  expect(after(fresh, [0.01, 60], [0.3, 60], [0.01, 60], [0.01, 60]).collect).toBe(false);
});

test('a heap that is hardly larger than after the last collection is left alone, however long the rest', () => {
  const collected: Rest = { looks: 0, heap: 30 * MB };
  expect(
    after(collected, ...Array.from({ length: 10 }, (): [number, number] => [0, 37])).collect,
  ).toBe(false);
  expect(
    after(collected, ...Array.from({ length: 3 }, (): [number, number] => [0, 39])).collect,
  ).toBe(true);
});

test('a large heap takes long, and is collected when it has grown by a tenth', () => {
  const collected: Rest = { looks: 0, heap: 300 * MB };
  expect(
    after(collected, ...Array.from({ length: 10 }, (): [number, number] => [0, 325])).collect,
  ).toBe(false);
  expect(
    after(collected, ...Array.from({ length: 3 }, (): [number, number] => [0, 335])).collect,
  ).toBe(true);
});
