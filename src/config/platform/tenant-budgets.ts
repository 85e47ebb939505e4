import { describeNearestName } from '../../nearest-name.ts';
import { BUDGET_NAME, findAmountFault, UNIT_PARTS } from '../../schema/agent/budget.ts';
import { isObject } from '../../schema/json.ts';
import {
  MOST_TENANT_BUDGETS,
  TENANT_UNITS,
  TENANT_WINDOWS,
  type TenantBudget,
} from '../../schema/wire/reported-usage.ts';
import type { SettingsReader } from '../env.ts';
import { buildListCheck, isNonEmptyText, type SettingCheck } from './checks.ts';

/**
 * A budget that all deployments of a tenant share. Each tenant has one of its own. `hard` is in whole parts of the
 * unit: billionths of a dollar, tokens, calls.
 */
export type TenantBudgetSetting = Pick<TenantBudget, 'name' | 'unit' | 'within' | 'at' | 'hard'> & {
  /** The tenants that have it. Undefined: all. */
  tenants: readonly string[] | undefined;
};

const ENDS = ['ask', 'fail', 'wait'] as const;

const buildWordCheck =
  (words: readonly string[]): SettingCheck =>
  (value) =>
    words.some((word) => word === value);

/** The fields of a budget, which are those of the chart's settings.budgets.tenants. */
const FIELDS: Record<string, { check: SettingCheck; isNeeded?: boolean; says: string }> = {
  name: {
    check: (value) => typeof value === 'string' && new RegExp(BUDGET_NAME).test(value),
    isNeeded: true,
    says: 'a name of small letters, digits and hyphens',
  },
  unit: { check: buildWordCheck(TENANT_UNITS), isNeeded: true, says: 'usd, tokens or calls' },
  within: { check: buildWordCheck(TENANT_WINDOWS), isNeeded: true, says: 'day, week or month' },
  hard: {
    check: (value) => typeof value === 'number' && value >= 0,
    isNeeded: true,
    says: 'a number that is not negative',
  },
  at: { check: buildWordCheck(ENDS), says: 'ask, fail or wait' },
  tenants: { check: buildListCheck(isNonEmptyText), says: 'a list of ids of tenants' },
};

/** Reads the budgets that deployments of a tenant share. */
export function readTenantBudgetSettings(read: SettingsReader): TenantBudgetSetting[] {
  const given = read.readJson(['GX_TENANT_BUDGETS']) ?? [];
  const faults = checkBudgets(given);
  for (const fault of faults) read.addProblem(`GX_TENANT_BUDGETS ${fault}`);
  // A fault ends the process, which then uses none of them.
  return faults.length > 0 ? [] : (given as GivenBudget[]).map(toSetting);
}

type GivenBudget = Pick<TenantBudget, 'name' | 'unit' | 'within' | 'hard'> & {
  at?: TenantBudget['at'];
  tenants?: string[];
};

const toSetting = ({ name, unit, within, hard, at = 'ask', tenants }: GivenBudget) => ({
  name,
  unit,
  within,
  at,
  hard: Math.round(hard * UNIT_PARTS[unit]),
  tenants: tenants?.map((tenant) => tenant.toLowerCase()),
});

function checkBudgets(given: unknown): string[] {
  if (!Array.isArray(given)) return ['must be a list in JSON'];
  if (given.length > MOST_TENANT_BUDGETS) return [`may have ${MOST_TENANT_BUDGETS} at most`];
  const faults = given.flatMap((one: unknown, at) =>
    checkBudget(one).map((fault) => `[${at}] ${fault}`),
  );
  if (faults.length > 0) return faults;
  const named = (given as GivenBudget[]).map(({ name }) => name);
  const twice = named.findIndex((name, at) => named.indexOf(name) < at);
  return twice === -1 ? [] : [`[${twice}] name is that of another budget`];
}

function checkBudget(given: unknown): string[] {
  if (!isObject(given)) return ['must be an object'];
  const unknown = Object.keys(given)
    .filter((name) => !(name in FIELDS))
    .map((name) => `${name} is not a field of it${describeNearestName(name, Object.keys(FIELDS))}`);
  const wrong = Object.entries(FIELDS).flatMap(([name, { check, isNeeded = false, says }]) =>
    (given[name] === undefined ? !isNeeded : check(given[name])) ? [] : [`${name} must be ${says}`],
  );
  if (unknown.length + wrong.length > 0) return [...unknown, ...wrong];
  const { hard, unit } = given as GivenBudget;
  const fault = findAmountFault(hard, unit);
  return fault === undefined ? [] : [`hard ${fault}`];
}
