import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { estimateHitChance, type HitsOf } from '../../../src/operator/scale/chance.ts';

/* Fisher's exact test of one side, also with numbers that somebody has made up. */

test('chance is that of exact tables', () => {
  expect(estimateHitChance({ of: 10, hits: 3 }, { of: 10, hits: 1 })).toBeCloseTo(0.291, 3);
  expect(estimateHitChance({ of: 8, hits: 7 }, { of: 10, hits: 2 })).toBeCloseTo(0.0077, 3);
  expect(estimateHitChance({ of: 50, hits: 0 }, { of: 500, hits: 0 })).toBeCloseTo(1, 9);
  expect(estimateHitChance({ of: 50, hits: 5 }, { of: 500, hits: 0 })).toBeLessThan(1e-4);
});

/** Returns numbers from 0 to 1 that are the same in each run of the test. */
function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/**
 * Returns the same chance by a sum over every possible number of hits. The terms follow from each other by exact
 * quotients, and are divided by their sum, so that no logarithm is needed.
 */
function summedChance(one: HitsOf, other: HitsOf): number {
  const hits = one.hits + other.hits;
  const [least, most] = [Math.max(0, hits - other.of), Math.min(one.of, hits)];
  const mode = Math.max(
    least,
    Math.min(most, Math.floor(((one.of + 1) * (hits + 1)) / (one.of + other.of + 2))),
  );
  const quotient = (count: number): number =>
    ((one.of - count) / (count + 1)) * ((hits - count) / (other.of - hits + count + 1));
  let [all, tail] = [0, 0];
  const take = (count: number, term: number): void => {
    all += term;
    if (count >= one.hits) tail += term;
  };
  for (
    let [count, term] = [mode, 1];
    count <= most && term > 1e-18;
    term *= quotient(count), count += 1
  )
    take(count, term);
  for (
    let [count, term] = [mode - 1, 1 / quotient(mode - 1)];
    count >= least && term > 1e-18;
    count -= 1, term /= quotient(count)
  )
    take(count, term);
  return tail / all;
}

/** Returns two groups of up to so many, which differ by up to six standard deviations. */
function drawn(next: () => number, most: number): [HitsOf, HitsOf] {
  const sizeOf = (): number => Math.ceil(most ** next());
  const [one, other, rate] = [sizeOf(), sizeOf(), next() ** 3];
  const spread = Math.sqrt(one * rate * (1 - rate));
  const hits = Math.max(0, Math.min(one, Math.round(one * rate + spread * (next() * 9 - 3))));
  return [
    { of: one, hits },
    { of: other, hits: Math.round(other * rate) },
  ];
}

describe('a chance', () => {
  test('is that of the whole sum, as far as it decides anything', () => {
    const next = chances(3);
    const wrong = Array.from({ length: 3000 }, () => drawn(next, 1e5)).filter(
      ([one, other]) => Math.abs(estimateHitChance(one, other) - summedChance(one, other)) > 1e-6,
    );
    expect(wrong).toEqual([]);
  });

  test('of numbers whose sum is too long differs from it by less than a half percent of one percent', () => {
    const next = chances(11);
    const compared = Array.from({ length: 400 }, () => drawn(next, 1e9)).map(([one, other]) => {
      const [exact, found] = [summedChance(one, other), estimateHitChance(one, other)];
      return { one, other, exact, error: Math.abs(found - exact) };
    });
    expect(compared.filter(({ error }) => error > 2e-4)).toEqual([]);
    const deciding = compared.filter(({ exact }) => exact > 0.005 && exact < 0.02);
    expect(deciding.filter(({ exact, error }) => error / exact > 0.005)).toEqual([]);
    expect(deciding.length).toBeGreaterThan(3);
  });

  test('takes no longer for greater numbers', () => {
    const next = chances(5);
    const asked: [HitsOf, HitsOf][] = [
      [
        { of: 1e9, hits: 5e8 },
        { of: 1e9, hits: 4e8 },
      ],
      [
        { of: 2e12, hits: 2e12 },
        { of: 2e12, hits: 0 },
      ],
      [
        { of: 2e12, hits: 1 },
        { of: 2e12, hits: 2e12 - 1 },
      ],
      [
        { of: 3e6, hits: 1_500_100 },
        { of: 3e6, hits: 1_500_000 },
      ],
      ...Array.from({ length: 2000 }, () => drawn(next, 2e12)),
    ];
    const impossible: [HitsOf, HitsOf][] = [];
    let longest = 0;
    for (const [one, other] of asked) {
      const began = process.threadCpuUsage();
      const chance = estimateHitChance(one, other);
      const { user, system } = process.threadCpuUsage(began);
      longest = Math.max(longest, (user + system) / 1000);
      if (!(chance >= 0 && chance <= 1)) impossible.push([one, other]);
    }
    expect(impossible).toEqual([]);
    expect(longest).toBeLessThan(50);
  });
});
