import { Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import {
  UNIT_PARTS,
  type Budget,
  type BudgetUnit,
  type RunBudget,
} from '../../schema/agent/budget.ts';
import { TENANT_KEY, type TenantBudget } from '../../schema/wire/reported-usage.ts';
import {
  findSpentWindow,
  holdAmounts,
  queueSpentRun,
  releaseHolds,
  releaseQueuedRuns,
  spendTime,
  type AskedAccount,
  type QueuedRun,
} from '../db/budgets/accounts.ts';
import {
  deleteChain,
  loadChain,
  loadRecordedSpending,
  saveChain,
  type ChainState,
} from '../db/budgets/chains.ts';
import type { Database } from '../db/base/pool.ts';
import { retryDeadlock } from '../db/base/retry-deadlock.ts';
import type { Claimed } from '../db/runs/leases.ts';
import { runFields } from '../kernel/run-fields.ts';
import type { Prices } from '../prices/table.ts';
import { RunAdmission } from './run-admission.ts';
import type { PlatformBudgets } from './platform-budgets.ts';
import {
  describeBudgetRefusal,
  listBounds,
  type Bound,
  type BoundRun,
  type BudgetSource,
} from './rules.ts';

type Deps = {
  db: Database;
  /** Those of the deployment's owner. */
  owner: readonly Budget[];
  /** Those of gx.json. */
  author: readonly Budget[];
  /** Those that the deployment shares with others of its tenant. */
  tenants: PlatformBudgets;
  prices: () => Prices;
  log: Log;
};

/** Whether runs share budgets of the owner and the author, and whether spent ones refuse new runs, or keep them. */
type Own = { areShared: boolean; refuse: boolean; wait: boolean };

/** How a bounded run has ended, as its budgets hear of it. */
type BoundedEnd = { isOver: boolean; interrupts: string | undefined };

/** The budgets of a deployment: which runs they bound, and where those stand between two runs. */
export class RunBudgets {
  readonly #deps: Deps;
  readonly #own: Own;

  constructor(deps: Deps) {
    this.#deps = deps;
    const shared = this.all.filter(({ budget }) => budget.per !== 'run');
    this.#own = {
      areShared: shared.length > 0,
      refuse: shared.some(({ budget }) => budget.at === 'fail'),
      wait: shared.some(({ budget }) => budget.at === 'wait'),
    };
  }

  /** All budgets by name, with their source. */
  get all(): { source: BudgetSource; budget: Budget }[] {
    const { owner, author } = this.#deps;
    return [
      ...owner.map((budget) => ({ source: 'spec' as const, budget })),
      ...author.map((budget) => ({ source: 'gx.json' as const, budget })),
    ];
  }

  /** Those of the platform, by its last word. */
  get tenants(): readonly TenantBudget[] {
    return this.#deps.tenants.all;
  }

  /** Whether runs share some of them. */
  get areShared(): boolean {
    return this.#own.areShared || this.tenants.length > 0;
  }

  /** Whether new runs stay in the queue where one of them is spent. */
  get keepRunsQueued(): boolean {
    return this.#own.wait || this.tenants.some(({ at }) => at === 'wait');
  }

  /** Takes the word of the platform on budgets that deployments share. */
  hearTenants(budgets: TenantBudget[]): Promise<void> {
    return this.#deps.tenants.hear(budgets);
  }

  /** Throws where a budget is spent that refuses new runs, and says when it begins again. */
  async refuseSpent(run: BoundRun): Promise<void> {
    if (!this.#own.refuse && !this.tenants.some(({ at }) => at === 'fail')) return;
    for (const bound of this.#listBounds(undefined, run)) {
      const { per, fails, hard, key: budget, scope } = bound;
      if (per === 'run' || !fails || hard === undefined) continue;
      const window = await findSpentWindow(this.#deps.db, {
        budget,
        scope,
        hard,
        external: per === 'tenant',
      });
      if (window === undefined) continue;
      const { spent, ends_at: resetsAt, seconds } = window;
      const question = { key: budget, scope, since: null, resetsAt, spent, hard: window.hard };
      const headers = seconds === null ? {} : { 'retry-after': String(Math.max(1, seconds)) };
      throw new Problem(402, describeBudgetRefusal(bound, question), { headers });
    }
  }

  /** Returns the budget that a key names. */
  findByKey(key: string): { source: BudgetSource; budget: Budget } | undefined {
    return this.all.find(({ source, budget }) => `${source}/${budget.name}` === key);
  }

  /** Returns whether a budget counts the run. Where there are none, it takes no time. */
  isBounded({ kwargs }: Claimed, run: BoundRun): boolean {
    const { owner, author } = this.#deps;
    if (kwargs.budget !== undefined || kwargs.budget_chain === 'goes_on') return true;
    if (owner.length === 0 && author.length === 0 && this.tenants.length === 0) return false;
    return this.#listBounds(undefined, run).length > 0;
  }

  #listBounds(caller: RunBudget | undefined, run: BoundRun): Bound[] {
    const { owner, author } = this.#deps;
    return listBounds({ owner, author, tenants: this.tenants }, caller, run);
  }

  /**
   * Gives a run that has not begun back to the queue where a budget is spent whose runs wait there. Returns it, with
   * the runs behind it in its thread; none where it may begin.
   */
  async queueSpent(
    { run_id, thread_id, kwargs }: Claimed,
    facts: BoundRun,
    worker: string,
  ): Promise<QueuedRun[]> {
    if (!this.keepRunsQueued || kwargs.budget_answer !== undefined) return [];
    const bounds = this.#listBounds(undefined, facts).flatMap(({ waits, key, scope, hard, per }) =>
      waits && hard !== undefined ? [{ budget: key, scope, hard, external: per === 'tenant' }] : [],
    );
    if (bounds.length === 0) return [];
    return queueSpentRun(this.#deps.db, { run_id, thread_id, worker }, bounds);
  }

  /** Makes runs due that waited in the queue for budgets which pay for them again. Returns them, at most so many. */
  releaseQueued(limit: number): ReturnType<typeof releaseQueuedRuns> {
    const own = this.all.flatMap(({ source, budget: { name, at, hard, unit } }) =>
      at === 'wait' && hard !== undefined
        ? [
            {
              budget: `${source}/${name}`,
              hard: Math.round(hard * UNIT_PARTS[unit]),
              external: false,
            },
          ]
        : [],
    );
    const external = this.tenants.flatMap(({ name, at, hard }) =>
      at === 'wait' ? [{ budget: `${TENANT_KEY}${name}`, hard, external: true }] : [],
    );
    return releaseQueuedRuns(this.#deps.db, [...own, ...external], limit);
  }

  /** Begins the admissions of a run's calls, from where its chain of runs stands. */
  async open(run: Claimed, facts: BoundRun): Promise<RunAdmission> {
    const { db, log, prices } = this.#deps;
    const { run_id, thread_id, kwargs } = run;
    const state = await this.#loadState(run);
    const bounds = this.#listBounds(state.caller, facts);
    if (run.attempt > 1) await releaseHolds(db, run_id);
    return new RunAdmission({
      bounds,
      state,
      threadId: thread_id,
      canWait: !kwargs.temporary || kwargs.keeps_waiting === true,
      priceOf: (call) => prices().findCost({ ...call, at: new Date() })?.nano,
      ask: (call_id: string, asked: AskedAccount[]) =>
        retryDeadlock(() => holdAmounts(db, { run_id, call_id, asked })),
      warn: ({ name, per, soft, unit }: Bound) =>
        log.warn(
          { ...runFields(run), budget: name, per, soft, unit },
          'the soft bound of a budget is passed',
        ),
    });
  }

  /** Writes down where the chain of a run stands that does not end with it, and removes the holds of its calls. */
  async close(
    { run_id, thread_id, kwargs }: Claimed,
    admission: RunAdmission,
    end: BoundedEnd | undefined,
  ): Promise<void> {
    const { db } = this.#deps;
    if (admission.shares) {
      await admission.spendTime((asked) => spendTime(db, asked));
      await releaseHolds(db, run_id);
    }
    if (end === undefined) return;
    if (end.isOver) {
      if (kwargs.budget_chain !== undefined) await deleteChain(db, thread_id);
      return;
    }
    const { state, asked } = admission.getState();
    const isAsked = asked !== undefined && end.interrupts?.includes(asked.question_id) === true;
    await saveChain(db, thread_id, { state, asked: isAsked ? asked : undefined });
  }

  async #loadState({ run_id, thread_id, attempt, kwargs }: Claimed): Promise<ChainState> {
    const { db } = this.#deps;
    const { budget, budget_chain, budget_answer: answer } = kwargs;
    const chain = budget_chain === 'goes_on' ? await loadChain(db, thread_id) : undefined;
    const before: ChainState = chain?.state ?? { spent: {}, raised: {} };
    const recorded = attempt > 1 ? await loadRecordedSpending(db, run_id) : {};
    const spent = Object.entries<number>(recorded).reduce<Record<string, number>>(
      (sums, [unit, amount]) => ({ ...sums, [unit]: (sums[unit] ?? 0) + amount }),
      before.spent,
    );
    return {
      caller: tightenBudget(before.caller, budget),
      spent,
      raised:
        answer?.key === undefined || answer.to === undefined
          ? before.raised
          : { ...before.raised, [answer.key]: answer.to },
      ...((before.unpriced === true || answer?.unpriced === true) && { unpriced: true }),
    };
  }
}

/** Returns the smaller of two bounds for each unit. */
function tightenBudget(
  one: RunBudget | undefined,
  other: RunBudget | undefined,
): RunBudget | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const units = Object.keys({ ...one, ...other }) as BudgetUnit[];
  return Object.fromEntries(
    units.map((unit) => [unit, Math.min(one[unit] ?? Infinity, other[unit] ?? Infinity)]),
  );
}
