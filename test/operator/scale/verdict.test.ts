import { describe, expect, test } from 'vitest';
import { estimateRankChance } from '../../../src/operator/scale/chance.ts';
import {
  decideVerdict,
  listDueQueries,
  NO_RUNS,
  summarizeVerdict,
  type QueryAnswer,
  type EndCounts,
  type VerdictSituation,
  type VerdictState,
} from '../../../src/operator/scale/verdict.ts';
import type { RolloutCheck } from '../../../src/schema/platform/rollout/rollout-trial.ts';
import {
  computeBucket,
  computeBucketBound,
  BUCKETS,
  computeTokenBucket,
} from '../../../src/schema/wire/run-counts.ts';

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

const histogramOf = (filled: readonly (readonly [bucket: number, count: number])[]): number[] => {
  const all = [...NO_RUNS.durations];
  for (const [bucket, count] of filled) all[bucket]! += count;
  return all;
};
const added = (one: readonly number[], other: readonly number[]): number[] =>
  one.map((count, at) => count + other[at]!);
const plus = (one: EndCounts, other: EndCounts): EndCounts => ({
  done: one.done + other.done,
  errors: one.errors + other.errors,
  lost: one.lost + other.lost,
  used: one.used + other.used,
  durations: added(one.durations, other.durations),
  waits: added(one.waits, other.waits),
  tokens: added(one.tokens, other.tokens),
});

/** `tells`: the part of the runs whose models say how many tokens they used; `asks`: of those that ask a model. */
type Nature = Partial<typeof USUAL>;
const USUAL = { fails: 0.02, seconds: 1, lost: 0, waits: 0.1, tokens: 1000, tells: 1, asks: 1 };

/** Returns the counts of so many runs. Durations and waits spread over a factor of four, tokens over one of sixteen. */
function runs(count: number, next: () => number, nature: Nature = {}): EndCounts {
  const { fails, seconds, lost, waits, tokens, tells, asks } = { ...USUAL, ...nature };
  const [durations, waited, used] = [
    [...NO_RUNS.durations],
    [...NO_RUNS.waits],
    [...NO_RUNS.tokens],
  ];
  const counts = { ...NO_RUNS, durations, waits: waited, tokens: used };
  for (let at = 0; at < count; at += 1) {
    if (next() < lost) counts.lost += 1;
    counts.done += 1;
    if (next() < fails) counts.errors += 1;
    else durations[computeBucket(seconds * 4 ** (next() - 0.5))]! += 1;
    waited[computeBucket(waits * 4 ** (next() - 0.5))]! += 1;
    if (next() >= tells) continue;
    const spent = next() < asks ? Math.round(tokens * 16 ** (next() - 0.5)) : 0;
    used[computeTokenBucket(spent)]! += 1;
    counts.used += spent;
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
function trial({
  ages = NO_AGES,
  checks = CHECKS,
  candidate,
  stable,
  each = [100, 500],
  windows = 3,
  seed = 7,
}: Trial): VerdictState[] {
  const next = chances(seed);
  let both = { candidate: NO_RUNS, stable: NO_RUNS };
  const answers: VerdictSituation['answers'] = new Map();
  let state = decideVerdict(undefined, {
    ...both,
    ages,
    answers,
    of: 'x',
    share: 10,
    checks,
    everySeconds: EVERY,
    now: 0,
  });
  return Array.from({ length: windows }, (_, at) => {
    both = {
      candidate: plus(both.candidate, runs(each[0], next, candidate)),
      stable: plus(both.stable, runs(each[1], next, stable)),
    };
    state = decideVerdict(state, {
      ...both,
      ages,
      answers,
      of: 'x',
      share: 10,
      checks,
      everySeconds: EVERY,
      now: (at + 1) * EVERY * 1000,
    });
    return state;
  });
}
const failedAt = (states: VerdictState[]): number =>
  states.findIndex(({ failed }) => failed !== undefined);

describe('within two windows', () => {
  test.each<[string, Nature, RegExp]>([
    [
      'one that fails a fifth of its runs',
      { fails: 0.2 },
      /^errors: [\d.]+ % of 100 runs, and [\d.]+ % of 500 of the other$/,
    ],
    [
      'one that takes three times as long',
      { seconds: 3 },
      /^p95: [\d.]+ s in \d+ runs, and [\d.]+ s in \d+ runs of the other$/,
    ],
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
    expect(states.some((state) => summarizeVerdict(state, CHECKS).state === 'fine')).toBe(true);
  }
});

describe('tokens and waits', () => {
  const checks: RolloutCheck[] = [
    { figure: 'tokens', worseBy: 30 },
    { figure: 'wait', worseBy: 50 },
  ];

  test.each<[string, Nature, Nature, RegExp]>([
    [
      'twice the tokens',
      { tokens: 2000 },
      {},
      /^tokens: \d+ in each of 100 runs, and \d+ in each of 500 of the other$/,
    ],
    ['models asked four times as often', { asks: 0.8 }, { asks: 0.2 }, /^tokens: /],
    [
      'three times the wait',
      { waits: 0.3 },
      {},
      /^wait: [\d.]+ s in 100 runs, and [\d.]+ s in 500 runs of the other$/,
    ],
  ])('%s is found within two windows', (_, candidate, stable, found) => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const states = trial({ checks, candidate, stable, seed });
      expect(failedAt(states)).toBe(1);
      expect(states[1]!.failed).toMatch(found);
    }
  });

  // Where a few runs use all the tokens, means differ by chance alone. `least` is the smallest that anybody would take.
  test.each<[string, Nature, RolloutCheck[]]>([
    ['all ask a model', {}, checks],
    ['one in twenty asks one', { asks: 0.05 }, checks],
    ['any difference counts', {}, [{ figure: 'tokens', worseBy: 1, least: 10 }]],
  ])('an equal one is never given up: %s', (_, nature, asked) => {
    for (let seed = 1; seed <= 50; seed += 1)
      expect(
        failedAt(
          trial({
            checks: asked,
            candidate: nature,
            stable: nature,
            each: [60, 500],
            windows: 10,
            seed,
          }),
        ),
      ).toBe(-1);
  });

  test('more tokens in few runs are an accident, and fewer are fine', () => {
    const few = trial({
      checks,
      candidate: { asks: 0.06, tokens: 4000 },
      stable: { asks: 0.05 },
      each: [60, 500],
    });
    expect(failedAt(few)).toBe(-1);
    expect(
      summarizeVerdict(trial({ checks, candidate: { tokens: 300, waits: 0.02 } }).at(-1)!, checks)
        .state,
    ).toBe('fine');
  });

  test('runs whose models tell no tokens are waited for, and so is a deployment whose models tell none at all', () => {
    const message =
      'The check of tokens needs 50 runs of each revision whose models say how many they used.';
    expect(summarizeVerdict(trial({ checks, candidate: { tells: 0 } }).at(-1)!, checks)).toEqual({
      state: 'waits',
      message,
    });
    const unasked = { asks: 0 };
    expect(
      summarizeVerdict(trial({ checks, candidate: unasked, stable: unasked }).at(-1)!, checks),
    ).toEqual({ state: 'waits', message });
  });

  test('the chance of ranks is that of published tables', () => {
    const at = (...buckets: number[]): number[] =>
      histogramOf(buckets.map((bucket) => [bucket, 1]));
    // Every value of one is above every one of the other: by exact tables 1 of 252, and of 184,756.
    expect(estimateRankChance(at(6, 7, 8, 9, 10), at(1, 2, 3, 4, 5))).toBeCloseTo(1 / 252, 2);
    expect(
      estimateRankChance(
        at(11, 12, 13, 14, 15, 16, 17, 18, 19, 20),
        at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
      ),
    ).toBeLessThan(1e-3);
    // scipy.stats.mannwhitneyu([3, 4, 2, 6, 2, 5], [9, 7, 5, 10, 6, 8], alternative='less') with ties and continuity.
    expect(estimateRankChance(at(9, 7, 5, 10, 6, 8), at(3, 4, 2, 6, 2, 5))).toBeCloseTo(0.0063, 3);
    expect(estimateRankChance(histogramOf([[4, 50]]), histogramOf([[4, 500]]))).toBe(1);
    expect(estimateRankChance(at(1, 2, 3), at(4, 5, 6))).toBeGreaterThan(0.9);
  });
});

describe('a query', () => {
  const UNCOUNTED = {
    candidate: NO_RUNS,
    stable: NO_RUNS,
    ages: NO_AGES,
    everySeconds: EVERY,
    of: 'x',
    share: 10,
  };
  const query = 'sum(cost{revision="{revision}"})';
  const checks: RolloutCheck[] = [{ query, worseBy: 50 }];
  const at = (now: number, answer?: QueryAnswer): VerdictSituation => ({
    ...UNCOUNTED,
    checks,
    now: now * 1000,
    answers: new Map(answer === undefined ? [] : [[query, answer]]),
  });
  const numbers = (seconds: number, candidate: number, stable: number): QueryAnswer => ({
    at: seconds * 1000,
    candidate,
    stable,
  });
  const begun = decideVerdict(undefined, at(0));

  test('is asked once its window is over, and waits for answers of that time', () => {
    expect(listDueQueries(begun, at(59))).toEqual([]);
    expect(listDueQueries(begun, at(60))).toEqual([query]);
    const early = decideVerdict(begun, at(60, numbers(59, 9, 1)));
    expect(summarizeVerdict(early, checks).message).toBe(
      `The check of the query ${query} waits for its first answers.`,
    );
    const fine = decideVerdict(early, at(62, numbers(61, 1.5, 1)));
    expect(summarizeVerdict(fine, checks)).toEqual({
      state: 'fine',
      message: `the query ${query}: 1.5, and 1 of the other`,
    });
    expect(listDueQueries(fine, at(100))).toEqual([]);
  });

  test('whose answer is greater by more than is asked, times in a row, gives the revision up', () => {
    const once = decideVerdict(begun, at(61, numbers(61, 1.6, 1)));
    expect(summarizeVerdict(once, checks)).toMatchObject({
      state: 'waits',
      message: expect.stringContaining('is worse') as string,
    });
    const twice = decideVerdict(once, at(122, numbers(122, 2, 1)));
    expect(summarizeVerdict(twice, checks)).toEqual({
      state: 'failed',
      message: `the query ${query}: 2, and 1 of the other`,
    });
    expect(listDueQueries(twice, at(300))).toEqual([]);
    const better = decideVerdict(once, at(122, numbers(122, -1, -1)));
    expect(summarizeVerdict(better, checks).message).toContain('was worse, and is fine since');
    expect(summarizeVerdict(decideVerdict(better, at(183, numbers(183, 1, 1))), checks).state).toBe(
      'fine',
    );
    // Of 0, any more is beyond every percentage.
    expect(decideVerdict(begun, at(61, numbers(61, 0.1, 0))).checks[0]!.failures).toBe(1);
  });

  test('without an answer waits, says why, and is no failure', () => {
    const without = decideVerdict(
      begun,
      at(61, { at: 61_000, lacks: 'Prometheus has no data (chat-00002)' }),
    );
    expect(summarizeVerdict(without, checks)).toEqual({
      state: 'waits',
      message: `The check of the query ${query} waits, because Prometheus has no data (chat-00002).`,
    });
    expect(without.checks[0]!.failures).toBe(0);
    expect(listDueQueries(without, at(62))).toEqual([query]);
    expect(summarizeVerdict(decideVerdict(without, at(70, numbers(69, 1, 1))), checks).state).toBe(
      'fine',
    );
  });
});

test('one that is worse by less than is asked is fine', () => {
  const states = trial({ candidate: { seconds: 1.2, fails: 0.04 }, each: [2000, 20_000] });
  expect(summarizeVerdict(states.at(-1)!, CHECKS).state).toBe('fine');
});

test('one that fails as often as the other is fine, because a constant tells nothing', () => {
  const bad = { fails: 0.5, seconds: 30 };
  expect(summarizeVerdict(trial({ candidate: bad, stable: bad }).at(-1)!, CHECKS).state).toBe(
    'fine',
  );
});

test('with too few runs of either it waits, and says so', () => {
  for (const each of [
    [10, 500],
    [500, 10],
    [0, 0],
  ] as [number, number][]) {
    const state = trial({ candidate: { fails: 1 }, each, windows: 1 })[0]!;
    expect(summarizeVerdict(state, CHECKS)).toEqual({
      state: 'waits',
      message: 'The check of errors needs 50 runs of each revision.',
    });
  }
  // The runs of several windows count together until there are enough.
  expect(failedAt(trial({ candidate: { fails: 0.5 }, each: [25, 100], windows: 4 }))).toBe(3);
});

describe('runs that do not end', () => {
  const checks: RolloutCheck[] = [{ figure: 'stuck', worseBy: 20 }];
  const agesOf = (count: number, seconds: number): number[] =>
    histogramOf([[computeBucket(seconds), count]]);

  test('tell of a revision that ends none, by few of them', () => {
    const states = trial({
      checks,
      each: [0, 500],
      ages: { candidate: agesOf(8, 30), stable: agesOf(8, 1) },
    });
    expect(failedAt(states)).toBe(1);
    expect(states[1]!.failed).toBe('stuck: 100.0 % of 8 runs, and 0.0 % of 500 of the other');
  });
  test('are no fault while they are young, or where the other has as many', () => {
    const young = trial({
      checks,
      each: [100, 500],
      ages: { candidate: agesOf(8, 3), stable: agesOf(8, 3) },
    });
    expect(summarizeVerdict(young.at(-1)!, checks).state).toBe('fine');
    const alike = trial({
      checks,
      each: [100, 100],
      ages: { candidate: agesOf(50, 60), stable: agesOf(50, 60) },
    });
    expect(summarizeVerdict(alike.at(-1)!, checks).state).toBe('fine');
  });
  test('of lost workers few are enough, too', () => {
    const lost: RolloutCheck[] = [{ figure: 'lost', worseBy: 5 }];
    const states = trial({ checks: lost, each: [8, 100], candidate: { lost: 0.9 } });
    expect(failedAt(states)).toBe(1);
  });
  test('tell nothing where the other has ended too few', () => {
    const states = trial({
      checks,
      each: [0, 2],
      windows: 1,
      ages: { candidate: agesOf(8, 30), stable: [] },
    });
    expect(summarizeVerdict(states[0]!, checks)).toEqual({
      state: 'waits',
      message: 'The check of stuck needs 5 runs of each revision.',
    });
  });
});

test('a single window that is worse is no failure, and the step waits meanwhile', () => {
  const next = chances(3);
  const checks: RolloutCheck[] = [{ figure: 'errors', worseBy: 5, least: 20, failures: 2 }];
  const shared = {
    of: 'x',
    share: 10,
    ages: NO_AGES,
    answers: new Map(),
    checks,
    everySeconds: EVERY,
  };
  const bad = { candidate: runs(60, next, { fails: 0.5 }), stable: runs(500, next) };
  const good = {
    candidate: plus(bad.candidate, runs(60, next)),
    stable: plus(bad.stable, runs(500, next)),
  };
  const first = decideVerdict(undefined, {
    ...shared,
    candidate: NO_RUNS,
    stable: NO_RUNS,
    now: 0,
  });
  const worse = decideVerdict(first, { ...shared, ...bad, now: 60_000 });
  expect(summarizeVerdict(worse, checks)).toMatchObject({
    state: 'waits',
    message: expect.stringMatching(/is worse \(errors: /) as string,
  });
  const better = decideVerdict(worse, { ...shared, ...good, now: 120_000 });
  // One good window does not outweigh the bad one.
  expect(summarizeVerdict(better, checks)).toMatchObject({
    state: 'waits',
    message: expect.stringMatching(/was worse, and is fine since/) as string,
  });
  const again = {
    candidate: plus(good.candidate, runs(60, next)),
    stable: plus(good.stable, runs(500, next)),
  };
  const best = decideVerdict(better, { ...shared, ...again, now: 180_000 });
  expect(summarizeVerdict(best, checks).state).toBe('fine');
  // Each share is looked at for itself.
  const later = decideVerdict(best, { ...shared, ...again, share: 50, now: 181_000 });
  expect(summarizeVerdict(later, checks).state).toBe('waits');
});

test('buckets hold durations that differ by less than a tenth', () => {
  for (const seconds of [0.02, 0.5, 1, 3, 60, 3600]) {
    const bucket = computeBucket(seconds);
    expect(computeBucketBound(bucket)).toBeGreaterThanOrEqual(seconds * (1 - 1e-6));
    expect(computeBucketBound(bucket)).toBeLessThan(seconds * 1.11);
  }
  expect([computeBucket(0.001), computeBucket(1e6)]).toEqual([0, BUCKETS - 1]);
});
