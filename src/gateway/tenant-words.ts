import type { BudgetWords, TenantWord } from '../schema/wire/budget-words.ts';
import type { TenantBudget } from '../schema/wire/reported-usage.ts';

/**
 * The operator's word on the budgets that deployments of a tenant share. While the operator is away, the last word
 * holds. A gateway that has just started knows none, and says none.
 */
export class TenantWords {
  readonly #tenants = new Map<string, TenantWord>();
  /** The tenant of each deployment. */
  readonly #tenantOf = new Map<string, string>();
  #from: string | undefined;
  #version = 0;
  /** False while tenants are still to come. */
  #isWhole = false;

  /** Takes a word. Returns false if it changes a version that is not known here. */
  take({ from, after, version, more, tenants }: BudgetWords): boolean {
    if (after === undefined) {
      this.#tenants.clear();
      this.#tenantOf.clear();
    } else if (from !== this.#from || after !== this.#version) return false;
    for (const word of tenants) this.#replace(word);
    [this.#from, this.#version, this.#isWhole] = [from, version, !more];
    return true;
  }

  /** Returns the budgets of a deployment as they stand. Undefined: the operator has not sent them yet. */
  get(deployment: string): TenantBudget[] | undefined {
    const word = this.#tenants.get(this.#tenantOf.get(deployment) ?? '');
    if (word === undefined) return this.#isWhole ? [] : undefined;
    const own = word.own[deployment] ?? [];
    return word.budgets.map((budget, at) => ({ ...budget, own: own[at] ?? 0 }));
  }

  #replace(word: TenantWord): void {
    const { tenant } = word;
    // A deployment may have gone to another tenant, whose word came first.
    for (const deployment of Object.keys(this.#tenants.get(tenant)?.own ?? {}))
      if (this.#tenantOf.get(deployment) === tenant) this.#tenantOf.delete(deployment);
    for (const deployment of Object.keys(word.own)) this.#tenantOf.set(deployment, tenant);
    if (word.budgets.length === 0) this.#tenants.delete(tenant);
    else this.#tenants.set(tenant, word);
  }
}
