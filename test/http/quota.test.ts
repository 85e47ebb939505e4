import { expect, test } from 'vitest';
import type { Problem } from '../../src/errors.ts';
import { Places, Rate } from '../../src/http/limits/quota.ts';

const refusal = (act: () => unknown): { status: number; after: string | undefined } | undefined => {
  try {
    act();
    return undefined;
  } catch (error) {
    const { status, headers } = error as Problem;
    return { status, after: headers['retry-after'] };
  }
};

test('who asks too often is told when to come back, and nobody else', () => {
  let now = 0;
  const rate = new Rate({ perMinute: 60, message: 'slower', clock: () => now });
  for (let count = 0; count < 60; count += 1) rate.take('a');
  expect(refusal(() => rate.take('a'))).toEqual({ status: 429, after: '1' });
  expect(refusal(() => rate.take('a', 30))).toEqual({ status: 429, after: '30' });
  expect(refusal(() => rate.take('b'))).toBeUndefined();
  now = 1000;
  expect([refusal(() => rate.take('a')), refusal(() => rate.take('a'))?.status]).toEqual([
    undefined,
    429,
  ]);
  rate.giveBack('a');
  expect(refusal(() => rate.take('a'))).toBeUndefined();
});

test('a rate of 0 bounds nothing', () => {
  const rate = new Rate({ perMinute: 0, message: 'slower' });
  expect(refusal(() => rate.take('a', 1_000_000))).toBeUndefined();
});

test('names beyond those that are remembered are forgotten, not refused', () => {
  const rate = new Rate({ perMinute: 1, message: 'slower', clock: () => 0 });
  const refused = Array.from({ length: 30_000 }, (_, index) =>
    refusal(() => rate.take(`name ${index}`)),
  ).filter(Boolean);
  expect(refused).toEqual([]);
});

test('a place is free again when it is given back, once', () => {
  const places = new Places();
  const holders = (key: string) => [
    { name: `key ${key}`, most: 2, message: 'the key' },
    { name: 'tenant', most: 3, message: 'the tenant' },
  ];
  const [first] = [places.enter(holders('a')), places.enter(holders('a'))];
  expect(() => places.enter(holders('a'))).toThrow('the key');
  places.enter(holders('b'));
  expect(() => places.enter(holders('b'))).toThrow('the tenant');
  first();
  first();
  places.enter(holders('b'));
  expect(() => places.enter(holders('c'))).toThrow('the tenant');
});
