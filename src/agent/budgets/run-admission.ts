import type { BudgetUnit } from '../../schema/agent/budget.ts';
import type { AskedCall, CallRefusal } from '../../schema/wire/wall/admission.ts';
import type { AccountAnswer, AskedAccount } from '../db/budgets/accounts.ts';
import type { AskedBudget, ChainState } from '../db/budgets/chains.ts';
import type { StoredCall } from '../db/usage/model-calls.ts';
import {
  addAmounts,
  buildRefusal,
  estimateCall,
  isWithinBound,
  measureCall,
  NO_AMOUNTS,
  type Amounts,
  type Bound,
  type BudgetQuestion,
  type CallEstimate,
} from './rules.ts';

type Deps = {
  bounds: Bound[];
  /** Where the chain of runs stood when the run began. */
  state: ChainState;
  threadId: string;
  /** Whether the thread can wait for an answer. */
  canWait: boolean;
  priceOf: Parameters<typeof estimateCall>[1];
  /** Asks the budgets that other runs share. Throws `Unavailable` while the database is away. */
  ask: (callId: string, asked: AskedAccount[]) => Promise<AccountAnswer>;
  /** Hears of a soft bound that is passed. */
  warn: (bound: Bound) => void;
};

/**
 * Lets the calls of one run begin, or refuses them. Budgets of the run itself are counted here, without a statement;
 * those that it shares with others are asked in the database.
 */
export class RunAdmission {
  readonly #deps: Deps;
  readonly #began = performance.now();
  readonly #estimates = new Map<string, CallEstimate>();
  readonly #warned = new Set<string>();
  /** The time up to which budgets that other runs share have counted. */
  #countedTo = performance.now();
  #spent: Amounts;
  #held: Amounts = NO_AMOUNTS;
  #refused: { refusal: CallRefusal; asked: AskedBudget; isUnpriced: boolean } | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#spent = { ...NO_AMOUNTS, ...deps.state.spent };
  }

  /** Whether it has asked budgets that other runs share. */
  get shares(): boolean {
    return this.#deps.bounds.some(({ per }) => per !== 'run');
  }

  /** Returns why a call may not begin. Once one is refused, all are: the run stops. */
  async admit(call: AskedCall): Promise<CallRefusal | undefined> {
    if (this.#refused !== undefined) return this.#refused.refusal;
    if (this.#estimates.has(call.id)) return undefined;
    const estimate = estimateCall(call, this.#deps.priceOf);
    const question =
      this.#findUnpriced(estimate) ??
      this.#askOwn(estimate) ??
      (await this.#askShared(call.id, estimate));
    if (question === undefined) return undefined;
    this.#refuse(question);
    // Another call may have been refused while this one was asked for.
    return (this.#refused as { refusal: CallRefusal } | undefined)?.refusal;
  }

  /** Counts calls that have ended. */
  record(calls: StoredCall[]): void {
    for (const call of calls) {
      const estimate = this.#estimates.get(call.id);
      this.#estimates.delete(call.id);
      if (estimate !== undefined) this.#held = addAmounts(this.#held, estimate.amounts, -1);
      this.#spent = addAmounts(this.#spent, measureCall(call, estimate));
    }
  }

  /** Whether a call was let in, and has not ended. */
  isUnderWay(callId: string): boolean {
    return this.#estimates.has(callId);
  }

  /** Has budgets that other runs share count a call that the graph has made without LangChain, and reports itself. */
  async holdReported(callId: string): Promise<void> {
    const asked = this.listShared(NO_ESTIMATE)
      .filter(({ unit }) => unit !== 'seconds')
      .map((one) => ({ ...one, hard: undefined, external: false }));
    if (asked.length > 0) await this.#deps.ask(callId, asked);
  }

  /** Returns where the chain of runs stands, and the question that the run has asked. */
  getState(): { state: ChainState; asked: AskedBudget | undefined } {
    const seconds = this.#measureSeconds();
    return {
      state: {
        ...this.#deps.state,
        spent: { ...this.#spent, seconds },
        asks_unpriced: this.#refused?.isUnpriced,
      },
      asked: this.#refused?.asked,
    };
  }

  /** Has budgets of time that other runs share count the time since they last did. */
  async spendTime(spend: (asked: AskedAccount[]) => Promise<void>): Promise<void> {
    await this.#runCounting(async (milliseconds) => {
      const asked = this.listShared(NO_ESTIMATE, milliseconds);
      const times = asked.filter(({ unit }) => unit === 'seconds');
      if (times.length > 0) await spend(times);
    });
  }

  /** Budgets that other runs share, as they ask for a call. */
  listShared(estimate: CallEstimate, milliseconds = 0): AskedAccount[] {
    return this.#deps.bounds
      .filter(({ per }) => per !== 'run')
      .map((bound) => ({
        budget: bound.key,
        scope: bound.scope,
        unit: bound.unit,
        span: bound.within,
        zone: bound.timezone,
        hard: bound.hard,
        soft: bound.soft,
        amount: bound.unit === 'seconds' ? milliseconds : estimate.amounts[bound.unit],
        certain: isKnown(bound.unit, estimate),
        external: bound.per === 'tenant',
        waits: bound.waits,
      }));
  }

  /** Does some work with the milliseconds that no budget has counted. Where it fails, another one gets them. */
  async #runCounting<T>(work: (milliseconds: number) => Promise<T>): Promise<T> {
    const milliseconds = Math.round(performance.now() - this.#countedTo);
    this.#countedTo += milliseconds;
    try {
      return await work(milliseconds);
    } catch (error) {
      this.#countedTo -= milliseconds;
      throw error;
    }
  }

  #measureSeconds(): number {
    return this.#spent.seconds + Math.round(performance.now() - this.#began);
  }

  /** A model without a price is asked about, where a budget in dollars does not count it as one that costs nothing. */
  #findUnpriced({ unpriced }: CallEstimate): BudgetQuestion | undefined {
    if (unpriced === undefined || this.#deps.state.unpriced === true) return undefined;
    const bound = this.#deps.bounds.find(
      ({ unit, countsUnpriced, hard }) => unit === 'usd' && !countsUnpriced && hard !== undefined,
    );
    return bound && { ...this.#buildQuestion(bound, this.#spent.usd), unpriced };
  }

  #askOwn(estimate: CallEstimate): BudgetQuestion | undefined {
    const own = this.#deps.bounds.filter(({ per }) => per === 'run');
    for (const bound of own) {
      const { unit, key, hard: given, soft } = bound;
      const amount = estimate.amounts[unit];
      const [spent, held] =
        unit === 'seconds' ? [this.#measureSeconds(), 0] : [this.#spent[unit], this.#held[unit]];
      const hard = this.#getHard(bound);
      const isCertain = isKnown(unit, estimate);
      // Time passes by itself: a call takes no amount of it that is known before.
      const isOver = unit === 'seconds' && hard !== undefined && spent >= hard;
      if (
        given !== undefined &&
        (isOver || !isWithinBound({ spent, held, hard: hard! }, { amount, isCertain }))
      )
        return this.#buildQuestion(bound, spent);
      if (soft !== undefined && spent + held + amount > soft && !this.#warned.has(key)) {
        this.#warned.add(key);
        this.#deps.warn(bound);
      }
    }
    return undefined;
  }

  async #askShared(callId: string, estimate: CallEstimate): Promise<BudgetQuestion | undefined> {
    // Calls that are asked for meanwhile see it.
    this.#estimates.set(callId, estimate);
    this.#held = addAmounts(this.#held, estimate.amounts);
    if (!this.shares) return undefined;
    const { refused, warned } = await this.#runCounting((milliseconds) =>
      this.#deps.ask(callId, this.listShared(estimate, milliseconds)),
    ).catch((error: unknown) => {
      this.#giveBack(callId, estimate);
      throw error;
    });
    for (const key of warned) this.#deps.warn(this.#findBound(key));
    if (refused === undefined) return undefined;
    this.#giveBack(callId, estimate);
    const { budget: key, scope, since, ends_at: resetsAt, spent, hard } = refused;
    return { key, scope, since, resetsAt, spent, hard };
  }

  #giveBack(callId: string, estimate: CallEstimate): void {
    if (this.#estimates.delete(callId)) this.#held = addAmounts(this.#held, estimate.amounts, -1);
  }

  #getHard({ key, hard }: Bound): number | undefined {
    return hard === undefined ? undefined : Math.max(hard, this.#deps.state.raised[key] ?? 0);
  }

  #findBound(key: string): Bound {
    return this.#deps.bounds.find((bound) => bound.key === key)!;
  }

  #buildQuestion(bound: Bound, spent: number): BudgetQuestion {
    const { key, scope } = bound;
    return { key, scope, since: null, resetsAt: null, spent, hard: this.#getHard(bound) ?? 0 };
  }

  #refuse(question: BudgetQuestion): void {
    if (this.#refused !== undefined) return;
    const { threadId, canWait } = this.#deps;
    const refusal = buildRefusal(this.#findBound(question.key), question, { threadId, canWait });
    const { key: budget, scope, since, hard } = question;
    const asked = { question_id: refusal.question?.id ?? '', budget, scope, since, hard };
    this.#refused = { refusal, asked, isUnpriced: question.unpriced !== undefined };
  }
}

/** A call of which nothing is known before its end. */
const NO_ESTIMATE: CallEstimate = { amounts: NO_AMOUNTS, isCertain: false, unpriced: undefined };

/** Returns whether nothing beyond the estimate is taken. */
const isKnown = (unit: BudgetUnit, { isCertain, unpriced }: CallEstimate): boolean =>
  unit === 'calls' || (isCertain && (unit !== 'usd' || unpriced === undefined));
