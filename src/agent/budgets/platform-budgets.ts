import type { TenantBudget } from '../../schema/wire/reported-usage.ts';
import { keepTenantBudgets, loadTenantBudgets } from '../db/budgets/tenant-budgets.ts';
import type { Database } from '../db/base/pool.ts';

/**
 * The budgets that the deployments of a tenant share, by the last word of the platform. It holds while the platform is
 * away, and is in the database for processes that have heard none.
 */
export class PlatformBudgets {
  readonly #db: Database;
  #all: readonly TenantBudget[] = [];
  /** The word that this process has kept, as JSON. */
  #kept: string | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  get all(): readonly TenantBudget[] {
    return this.#all;
  }

  /** Reads the last word. */
  async load(): Promise<void> {
    this.#all = await loadTenantBudgets(this.#db);
  }

  /** Takes a word. Throws where the database is away, and takes it all the same. */
  async hear(budgets: TenantBudget[]): Promise<void> {
    const word = JSON.stringify(budgets);
    const isNone = this.#all.length === 0 && budgets.length === 0;
    this.#all = budgets;
    if (word === this.#kept || (isNone && this.#kept === undefined)) return;
    await keepTenantBudgets(this.#db, budgets);
    this.#kept = word;
  }
}
