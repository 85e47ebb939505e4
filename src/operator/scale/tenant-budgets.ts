import type { TenantBudgetSetting } from '../../config/platform/tenant-budgets.ts';
import {
  findFirstDay,
  formatDay,
  limitSum,
  sumWindow,
  updateUsage,
  type UsageFields,
} from '../../schema/platform/deployment/usage-status.ts';
import type { SharedBudget, TenantWord } from '../../schema/wire/budget-words.ts';
import type { ReportedUsage } from '../../schema/wire/reported-usage.ts';
import { toUsageDays } from '../../schema/wire/usage-days.ts';

/** A deployment with its usage: as its status has it, and as its agents have reported it since. */
export type SpendingDeployment = {
  /** `namespace/name`. */
  key: string;
  tenant: string;
  status: UsageFields;
  reported: ReportedUsage | undefined;
};

/**
 * Returns how the budgets of each tenant stand, by the usage of its deployments in the windows of a time. Tenants
 * without a budget are left out.
 */
export function sumTenants(
  budgets: readonly TenantBudgetSetting[],
  deployments: Iterable<SpendingDeployment>,
  now: Date,
): Map<string, TenantWord> {
  const today = formatDay(now);
  const words = new Map<string, TenantWord>();
  for (const { key, tenant, status, reported } of deployments) {
    const word = words.get(tenant) ?? beginWord(budgets, tenant, today);
    words.set(tenant, word);
    if (word.budgets.length === 0) continue;
    const fields = updateUsage(status, toUsageDays(reported), today);
    const own = word.budgets.map(({ unit, within }) => sumWindow(fields, within, today)[unit]);
    word.own[key] = own;
    for (const [at, amount] of own.entries()) {
      const budget = word.budgets[at]!;
      budget.left = Math.max(0, budget.left - amount);
    }
  }
  for (const [tenant, { budgets: some }] of words) if (some.length === 0) words.delete(tenant);
  return words;
}

const beginWord = (
  budgets: readonly TenantBudgetSetting[],
  tenant: string,
  today: string,
): TenantWord => ({
  tenant,
  budgets: budgets
    .filter(({ tenants }) => tenants === undefined || tenants.includes(tenant))
    .map(({ name, unit, within, at, hard }): SharedBudget => ({
      name,
      unit,
      within,
      at,
      since: `${findFirstDay(today, within)}T00:00:00.000Z`,
      hard: limitSum(hard),
      left: limitSum(hard),
    })),
  own: {},
});
