import { Type, type Static } from 'typebox';
import { BUDGET_NAME, UNIT_PARTS } from '../agent/budget.ts';
import { buildEnumSchema, buildNullableSchema } from '../types.ts';

/*
 * The usage of models as processes report it, and the platform's answers about budgets that several deployments
 * share. Both are the word of the deployment's own code, so each number has a bound here.
 */

const buildSumSchema = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

/** The days that are reported: today and yesterday, of UTC. */
export const MOST_USAGE_DAYS = 2;

/** The sums of a deployment's calls of models that began on one day. */
export const UsageOfDay = Type.Object({
  day: Type.String({
    pattern: '^\\d{4}-[01]\\d-[0-3]\\d$',
    maxLength: 10,
    description: 'The day, of UTC.',
  }),
  calls: buildSumSchema('Calls of models, also those that failed.'),
  unreported: buildSumSchema('Calls that report no tokens, which are in no sum.'),
  unpriced: buildSumSchema('Calls whose price nobody knows.'),
  input: buildSumSchema('Tokens of prompts, with those of caches.'),
  cache_read: buildSumSchema('Tokens of prompts that a cache of the provider had.'),
  output: buildSumSchema('Tokens of answers.'),
  cost_nano: buildNullableSchema(
    buildSumSchema(
      'The price of the calls whose price is known, in billionths of a US dollar. Null where none is known.',
    ),
  ),
});
export type UsageOfDay = Static<typeof UsageOfDay>;

export const ReportedUsage = Type.Array(UsageOfDay, {
  maxItems: MOST_USAGE_DAYS,
  description:
    'Sums of the calls of models of today and of yesterday, the last day first. A day without calls is left out. Absent: not counted.',
});
export type ReportedUsage = Static<typeof ReportedUsage>;

/** Units that sums of days can tell. */
export const TENANT_UNITS = ['usd', 'tokens', 'calls'] as const;
export type TenantUnit = (typeof TENANT_UNITS)[number];
/** Windows that are sums of days of UTC. */
export const TENANT_WINDOWS = ['day', 'week', 'month'] as const;

/** The ends of runs that reach one. */
const TENANT_ENDS = ['ask', 'fail', 'wait'] as const;

/** The key of such a budget in the database of an agent: this, and its name. */
export const TENANT_KEY = 'tenant/';

/** Budgets of a tenant of one deployment at most. */
export const MOST_TENANT_BUDGETS = 8;

/**
 * A budget that all deployments of a tenant share, as it stands. Amounts are whole parts of its unit, as those of the
 * database of an agent: billionths of a dollar, tokens, calls.
 */
export const TenantBudget = Type.Object({
  name: Type.String({
    pattern: BUDGET_NAME,
    maxLength: 63,
    description: 'The name of the budget in the settings of the platform.',
  }),
  unit: buildEnumSchema(TENANT_UNITS, { description: 'US dollars, tokens or calls.' }),
  within: buildEnumSchema(TENANT_WINDOWS, { description: 'Its window, of UTC.' }),
  at: buildEnumSchema(TENANT_ENDS, {
    description: 'Whether runs that reach it ask, fail, or stay in the queue.',
  }),
  since: Type.String({
    format: 'date-time',
    maxLength: 40,
    description: 'The beginning of the window that the sums are of.',
  }),
  hard: buildSumSchema('The bound of all deployments together.'),
  own: buildSumSchema(
    'The sum of this deployment in the window, by the reports that the sums are made of.',
  ),
  left: buildSumSchema('The part that no deployment of the tenant has spent in the window.'),
});
export type TenantBudget = Static<typeof TenantBudget>;

export const TenantBudgets = Type.Array(TenantBudget, {
  maxItems: MOST_TENANT_BUDGETS,
  description:
    'How the budgets stand that the deployment shares with others of its tenant. Absent: the gateway does not know, and the last word holds.',
});
export type TenantBudgets = Static<typeof TenantBudgets>;

/** Returns the parts of a unit that sums of a day tell. Tokens are those of prompts without caches, and of answers. */
export function measureDay(day: UsageOfDay, unit: TenantUnit): number {
  switch (unit) {
    case 'usd':
      return day.cost_nano ?? 0;
    case 'tokens':
      return Math.max(0, day.input - day.cache_read) + day.output;
    default:
      return day.calls * UNIT_PARTS.calls;
  }
}

/** Returns the fields of the sums that are known here. Further ones of their sender are dropped. */
export const pickUsageFields = (usage: ReportedUsage): ReportedUsage =>
  usage.map(({ day, calls, unreported, unpriced, input, cache_read, output, cost_nano }) => ({
    day,
    calls,
    unreported,
    unpriced,
    input,
    cache_read,
    output,
    cost_nano,
  }));

/** Returns the budgets of an answer. Undefined where it has none, or they have another form. */
export function readTenantBudgets(given: unknown): TenantBudgets | undefined {
  if (!Array.isArray(given) || given.length > MOST_TENANT_BUDGETS) return undefined;
  const read = given.map((one) => readTenantBudget(one));
  return read.every((one) => one !== undefined) ? read : undefined;
}

function readTenantBudget(given: unknown): TenantBudget | undefined {
  const { name, unit, within, at, since, hard, own, left } = (given ?? {}) as Partial<
    Record<keyof TenantBudget, unknown>
  >;
  const isKnown =
    typeof name === 'string' &&
    new RegExp(BUDGET_NAME).test(name) &&
    isOneOf(TENANT_UNITS, unit) &&
    isOneOf(TENANT_WINDOWS, within) &&
    isOneOf(TENANT_ENDS, at) &&
    typeof since === 'string' &&
    !Number.isNaN(Date.parse(since)) &&
    isAmount(hard) &&
    isAmount(own) &&
    isAmount(left);
  return isKnown ? { name, unit, within, at, since, hard, own, left } : undefined;
}

const isOneOf = <T extends string>(words: readonly T[], given: unknown): given is T =>
  words.some((word) => word === given);

const isAmount = (given: unknown): given is number =>
  Number.isSafeInteger(given) && (given as number) >= 0;
