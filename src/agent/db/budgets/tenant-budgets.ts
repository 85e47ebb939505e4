import {
  readTenantBudgets,
  TENANT_KEY,
  type TenantBudget,
} from '../../../schema/wire/reported-usage.ts';
import type { Db } from '../base/pool.ts';

/* This file keeps the platform's last word on the budgets that the deployments of a tenant share. */

/** Returns the budgets of the last word. */
export async function loadTenantBudgets(db: Db): Promise<TenantBudget[]> {
  const rows = await db.query<{ word: unknown }>({
    name: 'tenant_budgets',
    text: 'select word from gx.tenant_budget order by name',
    values: [],
  });
  return readTenantBudgets(rows.map(({ word }) => word)) ?? [];
}

/**
 * Keeps a word, which takes the place of the one before. In a window this deployment may spend as much as it has spent,
 * and the rest that is left for all.
 */
export async function keepTenantBudgets(db: Db, budgets: TenantBudget[]): Promise<void> {
  await db.query({
    name: 'tenant_budgets_keep',
    text: `with w as (select one, b.* from jsonb_array_elements($1::text::jsonb) one,
        jsonb_to_record(one) as b (name text, unit text, within text, since timestamptz, own bigint, "left" bigint)),
      gone as (delete from gx.tenant_budget t where not exists (select 1 from w where w.name = t.name)),
      kept as (insert into gx.tenant_budget (name, word) select name, one from w order by name
        on conflict (name) do update set word = excluded.word, heard_at = now())
      insert into gx.budget_account (budget, scope, since, ends_at, unit, spent, raised)
        select '${TENANT_KEY}' || name, '', date_trunc(within, since at time zone 'UTC') at time zone 'UTC',
          (date_trunc(within, since at time zone 'UTC') + ('1 ' || within)::interval) at time zone 'UTC',
          unit, own, least(own::numeric + "left", ${Number.MAX_SAFE_INTEGER}) from w order by name
        on conflict (budget, scope, since) do update set raised = excluded.raised`,
    values: [JSON.stringify(budgets)],
  });
}
