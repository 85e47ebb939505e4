import { UNIT_PARTS } from '../../agent/budget.ts';
import { Type, type Static } from 'typebox';
import { buildOptionalFields } from '../../types.ts';

/*
 * The usage of models in the status of a deployment: the sums of two days, and those of the days before them that a
 * week or a month has. They are the word of the deployment's own code.
 */

const MOST = Number.MAX_SAFE_INTEGER;
const DAY_MS = 86_400_000;

const buildCountSchema = (description: string) =>
  Type.Integer({ minimum: 0, maximum: MOST, description });
const buildDaySchema = (description: string) =>
  Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', maxLength: 10, description });
const CostUsd = Type.String({
  pattern: '^\\d{1,7}(\\.\\d{1,9})?$',
  maxLength: 17,
  description:
    'The price of the calls whose price is known, in US dollars. Unset: no price is known.',
});

const sumFields = {
  calls: buildCountSchema('Calls of models, also those that failed.'),
  unreportedCalls: buildCountSchema('Calls that report no tokens, which are in no sum.'),
  unpricedCalls: buildCountSchema('Calls whose price nobody knows.'),
  inputTokens: buildCountSchema('Tokens of prompts, with those of caches.'),
  cacheReadTokens: buildCountSchema('Tokens of prompts that a cache of the provider had.'),
  outputTokens: buildCountSchema('Tokens of answers.'),
  costUsd: Type.Optional(CostUsd),
};

export const UsageDayStatus = Type.Object({
  day: buildDaySchema('The day, of UTC.'),
  ...sumFields,
});
export type UsageDayStatus = Static<typeof UsageDayStatus>;

const EarlierSums = Type.Object({
  calls: sumFields.calls,
  tokens: buildCountSchema('Tokens of prompts, without those of caches, and of answers.'),
  costUsd: CostUsd,
});

export const UsageEarlier = Type.Object({
  before: buildDaySchema('The day that none of them is of: yesterday, when they were written.'),
  ...buildOptionalFields({ week: EarlierSums, month: EarlierSums }),
});
export type UsageEarlier = Static<typeof UsageEarlier>;

/** Fields of the status about the usage of models, as its agents report it. */
export const usageStatus = buildOptionalFields({
  usageToday: {
    ...UsageDayStatus,
    description: 'Calls of models that began on the present day, of UTC. Unset: none was reported.',
  },
  usageYesterday: {
    ...UsageDayStatus,
    description: 'Calls of models that began on the day before.',
  },
  usageEarlier: {
    ...UsageEarlier,
    description: 'Sums of the earlier days of the present week, and month.',
  },
});

/** These fields as they are in a status. */
export type UsageFields = {
  usageToday?: UsageDayStatus | undefined;
  usageYesterday?: UsageDayStatus | undefined;
  usageEarlier?: UsageEarlier | undefined;
};

/** Sums of one or more days that budgets know: calls, tokens, and billionths of a dollar. */
export type WindowSums = { calls: number; tokens: number; usd: number };

/** Returns the day of a time, of UTC. */
export const formatDay = (time: Date): string => time.toISOString().slice(0, 10);

/** Returns the day before a day. */
export const findDayBefore = (day: string): string => formatDay(new Date(Date.parse(day) - DAY_MS));

/** Returns the first day of the week of a day, which is a Monday, or of its month. */
export function findFirstDay(day: string, within: 'day' | 'week' | 'month'): string {
  if (within === 'day') return day;
  if (within === 'month') return `${day.slice(0, 8)}01`;
  const time = Date.parse(day);
  return formatDay(new Date(time - ((new Date(time).getUTCDay() + 6) % 7) * DAY_MS));
}

/** Returns an amount of billionths of a dollar as dollars, without a loss. */
export function formatNanoUsd(nano: number): string {
  const part = String(nano % UNIT_PARTS.usd)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${Math.floor(nano / UNIT_PARTS.usd)}${part === '' ? '' : `.${part}`}`;
}

/** Returns billionths of a dollar. A text of another form counts as nothing, and none is above 2^53 - 1. */
export function parseUsd(text: string | undefined): number {
  const [, whole, part = ''] = /^(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text ?? '') ?? [];
  return whole === undefined
    ? 0
    : limitSum(Number(whole) * UNIT_PARTS.usd + Number(part.padEnd(9, '0')));
}

/** Returns a sum that stays a whole number, whatever its parts were. */
export const limitSum = (sum: number): number => Math.min(MOST, sum);

/** Returns the sums of a day by which budgets count. */
export const toWindowSums = (one: UsageDayStatus): WindowSums => ({
  calls: one.calls,
  tokens: limitSum(Math.max(0, one.inputTokens - one.cacheReadTokens) + one.outputTokens),
  usd: parseUsd(one.costUsd),
});

const NOTHING: WindowSums = { calls: 0, tokens: 0, usd: 0 };

export const addWindowSums = (one: WindowSums, other: WindowSums): WindowSums => ({
  calls: limitSum(one.calls + other.calls),
  tokens: limitSum(one.tokens + other.tokens),
  usd: limitSum(one.usd + other.usd),
});

const readEarlier = (sums: UsageEarlier['week']): WindowSums =>
  sums === undefined
    ? NOTHING
    : { calls: sums.calls, tokens: sums.tokens, usd: parseUsd(sums.costUsd) };

const writeEarlier = (sums: WindowSums): UsageEarlier['week'] =>
  sums.calls === 0
    ? undefined
    : { calls: sums.calls, tokens: sums.tokens, costUsd: formatNanoUsd(sums.usd) };

/**
 * Returns the fields on a day, from those before it and from the days of a report. Days other than it and the one
 * before are not taken from a report, so that no report changes the past or the future. A day that is older than that
 * goes into the sums of its week and month, once.
 */
export function updateUsage(
  before: UsageFields,
  reported: readonly UsageDayStatus[] | undefined,
  today: string,
): UsageFields {
  const yesterday = findDayBefore(today);
  const known = [before.usageToday, before.usageYesterday].filter((one) => one !== undefined);
  const find = (day: string): UsageDayStatus | undefined =>
    reported?.find((one) => one.day === day) ?? known.find((one) => one.day === day);
  return {
    usageToday: find(today),
    usageYesterday: find(yesterday),
    usageEarlier: moveEarlier(before.usageEarlier, known, today),
  };
}

/** Adds the days that are neither of the last two to the sums before these. */
function moveEarlier(
  earlier: UsageEarlier | undefined,
  known: UsageDayStatus[],
  today: string,
): UsageEarlier | undefined {
  const before = findDayBefore(today);
  // A clock that went back must not add a day twice.
  if (earlier !== undefined && earlier.before >= before) return earlier;
  const since = earlier?.before ?? '';
  const gone = known.filter(({ day }) => day < before && day >= since);
  const sum = (within: 'week' | 'month'): WindowSums => {
    const first = findFirstDay(today, within);
    return gone
      .filter(({ day }) => day >= first)
      .map(toWindowSums)
      .reduce(addWindowSums, since > first ? readEarlier(earlier?.[within]) : NOTHING);
  };
  const [week, month] = [writeEarlier(sum('week')), writeEarlier(sum('month'))];
  return week === undefined && month === undefined
    ? undefined
    : { before, ...(week && { week }), ...(month && { month }) };
}

/** Returns the sums of the window that a day is in, from fields that were made on that day. */
export function sumWindow(
  { usageToday, usageYesterday, usageEarlier }: UsageFields,
  within: 'day' | 'week' | 'month',
  today: string,
): WindowSums {
  const first = findFirstDay(today, within);
  const days = [usageToday, usageYesterday].filter(
    (one) => one !== undefined && one.day >= first && one.day <= today,
  ) as UsageDayStatus[];
  const start = within === 'day' ? NOTHING : readEarlier(usageEarlier?.[within]);
  return days.map(toWindowSums).reduce(addWindowSums, start);
}
