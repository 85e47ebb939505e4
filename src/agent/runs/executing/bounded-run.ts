import { toError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { AskedCall, CallRefusal } from '../../../schema/wire/wall/admission.ts';
import type { ModelCall } from '../../../schema/wire/wall/model-call.ts';
import type { RunBudgets } from '../../budgets/budgets.ts';
import type { RunAdmission } from '../../budgets/run-admission.ts';
import type { Db } from '../../db/base/pool.ts';
import type { Signals } from '../../db/base/signals.ts';
import type { Claimed } from '../../db/runs/leases.ts';
import type { Tickets } from '../../queue/tickets.ts';
import type { GraphHost } from '../../graphs/host.ts';
import { runFields } from '../../kernel/run-fields.ts';
import type { End } from './end.ts';
import { readRunFacts, type UsageLedger } from './usage-ledger.ts';

/** The budgets of a process, and the ledger that has the calls of bounded runs. */
export type BoundDeps = { db: Db; budgets: RunBudgets; ledger: UsageLedger; log: Log };

type QueueDeps = { tickets: Tickets; signals: Signals };

/** A run that budgets bound, while this process has it. */
export class BoundedRun {
  readonly ledger: UsageLedger;
  readonly #deps: BoundDeps;
  readonly #run: Claimed;
  readonly #admission: RunAdmission;
  readonly #reported = new Set<Promise<void>>();

  /** Returns undefined, without a statement, for a run that no budget bounds. */
  static async open(deps: BoundDeps, run: Claimed): Promise<BoundedRun | undefined> {
    const facts = readRunFacts(run);
    if (!deps.budgets.isBounded(run, facts)) return undefined;
    return new BoundedRun(deps, run, await deps.budgets.open(run, facts));
  }

  private constructor(deps: BoundDeps, run: Claimed, admission: RunAdmission) {
    this.ledger = deps.ledger;
    this.#deps = deps;
    this.#run = run;
    this.#admission = admission;
  }

  /** Ends the thread's work, where the run brings the answer that it is to stop. Returns whether it does. */
  async endIfStopped(host: GraphHost): Promise<boolean> {
    const { kwargs, graph_id, thread_id } = this.#run;
    if (kwargs.budget_answer?.decision !== 'stop') return false;
    await host.call('update', { graph_id, thread_id, values: null, as_node: '__end__' });
    return true;
  }

  /**
   * Gives the run back to the queue, where a budget is spent whose new runs wait there. Returns whether it does. A run
   * that has begun elsewhere goes on.
   */
  async returnIfSpent({ tickets, signals }: QueueDeps): Promise<boolean> {
    if (this.#run.attempt > 1) return false;
    const { budgets, log } = this.#deps;
    const queued = await budgets.queueSpent(this.#run, readRunFacts(this.#run), signals.processId);
    for (const run of queued) await tickets.send(this.#deps.db, run);
    if (queued.length > 0)
      log.info(runFields(this.#run), 'run waits in the queue: a budget is spent');
    return queued.length > 0;
  }

  admit(call: AskedCall): Promise<CallRefusal | undefined> {
    return this.#admission.admit(call);
  }

  /** Takes calls that have ended. Those that a graph reports itself are asked for only now. */
  record(calls: ModelCall[]): void {
    const { shares } = this.#admission;
    // A call that is counted is under way no longer, so all are looked at before.
    const { known = [], unknown = [] } = Object.groupBy(calls, ({ id }) =>
      !shares || this.#admission.isUnderWay(id) ? 'known' : 'unknown',
    );
    this.#add(known);
    if (unknown.length === 0) return;
    const recording = this.#recordReported(unknown).finally(() => this.#reported.delete(recording));
    this.#reported.add(recording);
  }

  /** Settles when budgets have counted all calls that the graph has reported. */
  async waitForReported(): Promise<void> {
    await Promise.all(this.#reported);
  }

  async close(end: End): Promise<void> {
    if (end.kind === 'forget') return;
    const isOver = end.kind !== 'finish' || (end.rest === 'idle' && end.status === 'success');
    const ended = end.kind === 'finish' ? { isOver, interrupts: end.interrupts } : undefined;
    await this.#deps.budgets.close(this.#run, this.#admission, ended);
  }

  async #recordReported(calls: ModelCall[]): Promise<void> {
    try {
      for (const { id } of calls) await this.#admission.holdReported(id);
    } catch (error) {
      const about = { err: toError(error), ...runFields(this.#run), calls: calls.length };
      this.#deps.log.warn(about, 'calls that a graph reports are not counted by shared budgets');
    }
    this.#add(calls);
  }

  #add(calls: ModelCall[]): void {
    if (calls.length === 0) return;
    const stored = this.ledger.add(this.#run, calls, this.#admission.shares);
    this.#admission.record(stored);
  }
}
