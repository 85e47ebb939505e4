import { expect, test } from 'vitest';
import {
  findFirstDay,
  formatNanoUsd,
  parseUsd,
  sumWindow,
  updateUsage as updateFields,
  type UsageFields,
} from '../../src/schema/platform/deployment/usage-status.ts';
import { toUsageDays } from '../../src/schema/wire/usage-days.ts';
import type { UsageOfDay } from '../../src/schema/wire/reported-usage.ts';

/* The usage of models in the status of a deployment, day by day. */

const updateUsage = (before: UsageFields, reported: UsageOfDay[] | undefined, today: string) =>
  updateFields(before, toUsageDays(reported), today);

const on = (day: string, calls: number, more: Partial<UsageOfDay> = {}): UsageOfDay => ({
  day,
  calls,
  unreported: 0,
  unpriced: 0,
  input: 10 * calls,
  cache_read: 2 * calls,
  output: calls,
  cost_nano: calls * 1_500_000,
  ...more,
});

test.each([
  [0, '0'],
  [1, '0.000000001'],
  [1_500_000_000, '1.5'],
  [Number.MAX_SAFE_INTEGER, '9007199.254740991'],
])('%d billionths of a dollar are %s, and back', (nano, text) => {
  expect([formatNanoUsd(nano), parseUsd(text)]).toEqual([text, nano]);
});

test.each([undefined, '', '-1', '1e30', '1.', '0.0000000001', '12345678', 'NaN'])(
  'a price that is no price, %s, counts as nothing',
  (text) => {
    expect(parseUsd(text)).toBe(0);
  },
);

test('weeks begin on Mondays', () => {
  expect(
    ['2026-11-29', '2026-11-30', '2026-12-01', '2026-12-06'].map((day) =>
      findFirstDay(day, 'week'),
    ),
  ).toEqual(['2026-11-23', '2026-11-30', '2026-11-30', '2026-11-30']);
});

test('the last word on a day counts, and a silent deployment keeps its sums', () => {
  const first = updateUsage({}, [on('2026-12-01', 1)], '2026-12-01');
  expect(first).toEqual({
    usageToday: {
      day: '2026-12-01',
      calls: 1,
      unreportedCalls: 0,
      unpricedCalls: 0,
      inputTokens: 10,
      cacheReadTokens: 2,
      outputTokens: 1,
      costUsd: '0.0015',
    },
    usageYesterday: undefined,
    usageEarlier: undefined,
  });
  const second = updateUsage(first, [on('2026-12-01', 3)], '2026-12-01');
  expect(second.usageToday?.calls).toBe(3);
  expect(updateUsage(second, undefined, '2026-12-01')).toEqual(second);
  const next = updateUsage(second, undefined, '2026-12-02');
  expect([next.usageToday, next.usageYesterday?.calls]).toEqual([undefined, 3]);
});

test('an unknown price is unset, and not 0', () => {
  const { usageToday } = updateUsage({}, [on('2026-12-01', 1, { cost_nano: null })], '2026-12-01');
  expect(usageToday).not.toHaveProperty('costUsd');
});

test('no report changes a day of the past or of the future', () => {
  const known = updateUsage({}, [on('2026-12-01', 1)], '2026-12-01');
  const forged = ['2026-11-30', '2026-12-04', '9999-12-31'].map((day) => on(day, 1000));
  expect(updateUsage(known, forged, '2026-12-02')).toEqual(
    updateUsage(known, undefined, '2026-12-02'),
  );
});

/** Plays days: each has its calls, or none, and is looked at twice. */
function play(days: [string, number | undefined][]): { fields: UsageFields; sums: number[][] } {
  let fields: UsageFields = {};
  const sums: number[][] = [];
  let before: UsageOfDay | undefined;
  for (const [day, calls] of days) {
    const today = calls === undefined ? undefined : on(day, calls);
    const reported = [today, before].filter((one) => one !== undefined);
    for (let turn = 0; turn < 2; turn += 1) fields = updateUsage(fields, reported, day);
    sums.push(
      (['day', 'week', 'month'] as const).map((within) => sumWindow(fields, within, day).calls),
    );
    before = today;
  }
  return { fields, sums };
}

test('a week and a month have each of their days once', () => {
  const { sums, fields } = play([
    ['2026-11-27', 1],
    ['2026-11-28', 2],
    ['2026-11-29', undefined],
    ['2026-11-30', 4],
    ['2026-12-01', 8],
    ['2026-12-02', 16],
    ['2026-12-03', 32],
    ['2026-12-10', 64],
  ]);
  expect(sums).toEqual([
    [1, 1, 1],
    [2, 3, 3],
    [0, 3, 3],
    [4, 4, 7],
    [8, 12, 8],
    [16, 28, 24],
    [32, 60, 56],
    [64, 64, 120],
  ]);
  expect(fields.usageEarlier).toEqual({
    before: '2026-12-09',
    month: { calls: 56, tokens: 56 * 9, costUsd: '0.084' },
  });
});

test('a clock that goes back adds no day twice', () => {
  const days: [string, number][] = ['01', '02', '03', '04'].map((day) => [`2026-12-${day}`, 1]);
  const { fields } = play(days);
  const back = updateUsage(fields, undefined, '2026-12-03');
  const again = updateUsage(back, [on('2026-12-04', 1), on('2026-12-03', 1)], '2026-12-04');
  expect(sumWindow(again, 'month', '2026-12-04').calls).toBe(4);
});

test('sums that are forged stay whole numbers, day for day', () => {
  const most = Number.MAX_SAFE_INTEGER;
  const forged = { calls: most, input: most, cache_read: 0, output: most, cost_nano: most };
  let fields: UsageFields = {};
  for (const day of ['2026-12-01', '2026-12-02', '2026-12-03', '2026-12-04'])
    fields = updateUsage(fields, [on(day, 1, forged)], day);
  expect(sumWindow(fields, 'month', '2026-12-04')).toEqual({
    calls: most,
    tokens: most,
    usd: most,
  });
});
