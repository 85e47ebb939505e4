import { describe, expect, test } from 'vitest';
import { chanceOf } from '../../../src/operator/scale/chance.ts';
import {
  decideVerdict,
  grown,
  histogramOf,
  NO_RUNS,
  plus,
  verdictOf,
  type EndCounts,
  type VerdictSituation,
  type VerdictState,
} from '../../../src/operator/scale/verdict.ts';
import type { RolloutCheck } from '../../../src/schema/platform/rollout-trial.ts';
import { bucketOf, boundOf, BUCKETS } from '../../../src/schema/wire/run-counts.ts';

/* A revision that is tried out is compared with the one that serves, by the runs of the same minutes. */

/** Returns numbers from 0 to 1 that are the same in each run of the test. */
function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), state | 1) + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Nature = { fails?: number; seconds?: number; lost?: number };

/** Returns the counts of so many runs; durations spread over a factor of four. */
function runs(count: number, next: () => number, { fails = 0.02, seconds = 1, lost = 0 }: Nature = {}): EndCounts {
  const counts = { ...NO_RUNS, durations: [...NO_RUNS.durations] };
  for (let at = 0; at < count; at += 1) {
    if (next() < lost) counts.lost += 1;
    counts.done += 1;
    if (next() < fails) counts.errors += 1;
    else counts.durations[bucketOf(seconds * 4 ** (next() - 0.5))]! += 1;
  }
  return counts;
}

const CHECKS: RolloutCheck[] = [
  { figure: 'errors', worseBy: 5 },
  { figure: 'p95', worseBy: 50 },
  { figure: 'lost', worseBy: 5 },
];
const EVERY = 60;
const NO_AGES = { candidate: [], stable: [] };

type Trial = {
  ages?: VerdictSituation['ages'];
  checks?: RolloutCheck[];
  candidate?: Nature;
  stable?: Nature;
  each?: [number, number];
  windows?: number;
  seed?: number;
};

/** Lets both revisions execute runs for so many windows. Returns the states at the end of each. */
function trial({ ages = NO_AGES, checks = CHECKS, candidate, stable, each = [100, 500], windows = 3, seed = 7 }: Trial): VerdictState[] {
  const next = chances(seed);
  let both = { candidate: NO_RUNS, stable: NO_RUNS };
  let state = decideVerdict(undefined, { ...both, ages, of: 'x', share: 10, checks, everySeconds: EVERY, now: 0 });
  return Array.from({ length: windows }, (_, at) => {
    both = { candidate: plus(both.candidate, runs(each[0], next, candidate)), stable: plus(both.stable, runs(each[1], next, stable)) };
    state = decideVerdict(state, { ...both, ages, of: 'x', share: 10, checks, everySeconds: EVERY, now: (at + 1) * EVERY * 1000 });
    return state;
  });
}
const failedAt = (states: VerdictState[]): number => states.findIndex(({ failed }) => failed !== undefined);

describe('within two windows', () => {
  test.each<[string, Nature, RegExp]>([
    ['one that fails a fifth of its runs', { fails: 0.2 }, /^errors: [\d.]+ % of 100 runs, and [\d.]+ % of 500 of the other$/],
    ['one that takes three times as long', { seconds: 3 }, /^p95: [\d.]+ s in \d+ runs, and [\d.]+ s in \d+ runs of the other$/],
    ['one whose workers are killed', { lost: 0.3 }, /^lost: /],
  ])('%s is found', (_, candidate, found) => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const states = trial({ candidate, seed });
      expect(failedAt(states)).toBe(1);
      expect(states[1]!.failed).toMatch(found);
    }
  });
});

test('an equal one is never given up, however often it is looked at', () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const states = trial({ windows: 10, seed });
    expect(failedAt(states)).toBe(-1);
    expect(states.some((state) => verdictOf(state, CHECKS).state === 'fine')).toBe(true);
  }
});

test('one that is worse by less than is asked is fine', () => {
  const states = trial({ candidate: { seconds: 1.2, fails: 0.04 }, each: [2000, 20_000] });
  expect(verdictOf(states.at(-1)!, CHECKS).state).toBe('fine');
});

test('one that fails as often as the other is fine, because a constant tells nothing', () => {
  const bad = { fails: 0.5, seconds: 30 };
  expect(verdictOf(trial({ candidate: bad, stable: bad }).at(-1)!, CHECKS).state).toBe('fine');
});

test('with too few runs of either it waits, and says so', () => {
  for (const each of [
    [10, 500],
    [500, 10],
    [0, 0],
  ] as [number, number][]) {
    const state = trial({ candidate: { fails: 1 }, each, windows: 1 })[0]!;
    expect(verdictOf(state, CHECKS)).toEqual({ state: 'waits', message: 'The check of errors needs 50 runs of each revision.' });
  }
  // The runs of several windows count together until there are enough.
  expect(failedAt(trial({ candidate: { fails: 0.5 }, each: [25, 100], windows: 4 }))).toBe(3);
});

describe('runs that do not end', () => {
  const checks: RolloutCheck[] = [{ figure: 'stuck', worseBy: 20 }];
  const agesOf = (count: number, seconds: number): number[] => histogramOf([[bucketOf(seconds), count]]);

  test('tell of a revision that ends none, by few of them', () => {
    const states = trial({ checks, each: [0, 500], ages: { candidate: agesOf(8, 30), stable: agesOf(8, 1) } });
    expect(failedAt(states)).toBe(1);
    expect(states[1]!.failed).toBe('stuck: 100.0 % of 8 runs, and 0.0 % of 500 of the other');
  });
  test('are no fault while they are young, or where the other has as many', () => {
    const young = trial({ checks, each: [100, 500], ages: { candidate: agesOf(8, 3), stable: agesOf(8, 3) } });
    expect(verdictOf(young.at(-1)!, checks).state).toBe('fine');
    const alike = trial({ checks, each: [100, 100], ages: { candidate: agesOf(50, 60), stable: agesOf(50, 60) } });
    expect(verdictOf(alike.at(-1)!, checks).state).toBe('fine');
  });
  test('of lost workers few are enough, too', () => {
    const lost: RolloutCheck[] = [{ figure: 'lost', worseBy: 5 }];
    const states = trial({ checks: lost, each: [8, 100], candidate: { lost: 0.9 } });
    expect(failedAt(states)).toBe(1);
  });
  test('tell nothing where the other has ended too few', () => {
    const states = trial({ checks, each: [0, 2], windows: 1, ages: { candidate: agesOf(8, 30), stable: [] } });
    expect(verdictOf(states[0]!, checks)).toEqual({ state: 'waits', message: 'The check of stuck needs 5 runs of each revision.' });
  });
});

test('a single window that is worse is no failure, and the step waits meanwhile', () => {
  const next = chances(3);
  const checks: RolloutCheck[] = [{ figure: 'errors', worseBy: 5, least: 20, failures: 2 }];
  const shared = { of: 'x', share: 10, ages: NO_AGES, checks, everySeconds: EVERY };
  const bad = { candidate: runs(60, next, { fails: 0.5 }), stable: runs(500, next) };
  const good = { candidate: plus(bad.candidate, runs(60, next)), stable: plus(bad.stable, runs(500, next)) };
  const first = decideVerdict(undefined, { ...shared, candidate: NO_RUNS, stable: NO_RUNS, now: 0 });
  const worse = decideVerdict(first, { ...shared, ...bad, now: 60_000 });
  expect(verdictOf(worse, checks)).toMatchObject({ state: 'waits', message: expect.stringMatching(/is worse \(errors: /) as string });
  const better = decideVerdict(worse, { ...shared, ...good, now: 120_000 });
  // One good window does not outweigh the bad one.
  expect(verdictOf(better, checks)).toMatchObject({
    state: 'waits',
    message: expect.stringMatching(/was worse, and is fine since/) as string,
  });
  const again = { candidate: plus(good.candidate, runs(60, next)), stable: plus(good.stable, runs(500, next)) };
  const best = decideVerdict(better, { ...shared, ...again, now: 180_000 });
  expect(verdictOf(best, checks).state).toBe('fine');
  // Each share is looked at for itself.
  const later = decideVerdict(best, { ...shared, ...again, share: 50, now: 181_000 });
  expect(verdictOf(later, checks).state).toBe('waits');
});

test('buckets hold durations that differ by less than a fifth', () => {
  for (const seconds of [0.02, 0.5, 1, 3, 60, 3600]) {
    const bucket = bucketOf(seconds);
    expect(boundOf(bucket)).toBeGreaterThanOrEqual(seconds * (1 - 1e-6));
    expect(boundOf(bucket)).toBeLessThan(seconds * 1.21);
  }
  expect([bucketOf(0.001), bucketOf(1e6)]).toEqual([0, BUCKETS - 1]);
});

test('the counts of a process are counted from its last report on', () => {
  const before = { revision: 'x', done: 3, errors: 1, lost: 0, ages: [], durations: [[4, 2]] as [number, number][] };
  const now = {
    revision: 'x',
    done: 8,
    errors: 2,
    lost: 1,
    durations: [
      [4, 3],
      [9, 3],
    ] as [number, number][],
    ages: [],
  };
  const growth = grown(now, before);
  expect([growth.done, growth.errors, growth.lost, growth.durations[4], growth.durations[9]]).toEqual([5, 1, 1, 1, 3]);
});

test('chance is that of exact tables', () => {
  expect(chanceOf({ of: 10, hits: 3 }, { of: 10, hits: 1 })).toBeCloseTo(0.291, 3);
  expect(chanceOf({ of: 8, hits: 7 }, { of: 10, hits: 2 })).toBeCloseTo(0.0077, 3);
  expect(chanceOf({ of: 50, hits: 0 }, { of: 500, hits: 0 })).toBeCloseTo(1, 9);
  expect(chanceOf({ of: 50, hits: 5 }, { of: 500, hits: 0 })).toBeLessThan(1e-4);
});
