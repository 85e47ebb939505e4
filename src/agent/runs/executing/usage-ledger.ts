import { toError, Unavailable } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { ModelCall } from '../../../schema/wire/wall/model-call.ts';
import { Batcher } from '../../db/base/batcher.ts';
import type { Database } from '../../db/base/pool.ts';
import type { Claimed } from '../../db/runs/leases.ts';
import { insertModelCalls, type StoredCall } from '../../db/usage/model-calls.ts';
import type { Json } from '../../../schema/json.ts';
import { runFields } from '../../kernel/run-fields.ts';
import { NANO_PER_USD } from '../../prices/compute-cost.ts';
import type { Prices } from '../../prices/table.ts';
import { ModelCallCounts } from './model-call-counts.ts';

type CallsToWrite = { calls: StoredCall[]; settles: boolean };
type OfRun = CallsToWrite & { writing: Promise<void> | undefined };

/** `measured`: the graphs whose calls are written down also where no budget bounds their run. */
type LedgerDeps = { db: Database; prices: () => Prices; measured: Iterable<string>; log: Log };

/** Writes the calls of models down while their runs are under way, so that a process that dies loses few of them. */
export class UsageLedger {
  readonly counts = new ModelCallCounts();
  readonly #batcher: Batcher<CallsToWrite, undefined>;
  readonly #log: Log;
  readonly #prices: () => Prices;
  readonly #unwritten = new Map<string, OfRun>();

  readonly #measured: ReadonlySet<string>;

  constructor({ db, prices, measured, log }: LedgerDeps) {
    this.#measured = new Set(measured);
    this.#log = log;
    this.#prices = prices;
    this.#batcher = new Batcher(async (lists) => {
      const settles = lists.some((list) => list.settles);
      await insertModelCalls(
        db,
        lists.flatMap((list) => list.calls),
        settles,
      );
      return lists.map(() => undefined);
    });
  }

  /** Returns whether the calls of all runs of a graph are written down. */
  isMeasured(graphId: string): boolean {
    return this.#measured.has(graphId);
  }

  /** Takes calls of a run, and begins to write them. `settles`: budgets that the run shares hold something for them. */
  add(run: Claimed, calls: ModelCall[], settles = false): StoredCall[] {
    const of = this.#unwritten.get(run.run_id) ?? { calls: [], settles, writing: undefined };
    this.#unwritten.set(run.run_id, of);
    const facts = readRunFacts(run);
    const stored = calls.map((call) => ({ ...call, ...facts, cost: this.#findCost(call) }));
    of.calls.push(...stored);
    for (const call of stored) this.counts.count(call);
    // Calls that the database does not take now are tried again at the end of the run.
    of.writing ??= this.#write(of)
      .catch(() => undefined)
      .finally(() => (of.writing = undefined));
    return stored;
  }

  /**
   * Writes the calls of the run that are not written yet. Returns whether there have been some. Throws `Unavailable`
   * while the database is away; calls that it refuses are left out, because a run does not fail for want of its bill.
   */
  async close(run: Claimed): Promise<boolean> {
    const of = this.#unwritten.get(run.run_id);
    // A worker that had the run before may have written some.
    if (of === undefined) return run.attempt > 1;
    await of.writing;
    await this.#write(of).catch((error: unknown) => {
      if (error instanceof Unavailable) throw error;
      const refused = { err: toError(error), ...runFields(run), calls: of.calls.length };
      this.#log.warn(refused, 'calls of models could not be written; the usage lacks them');
    });
    this.#unwritten.delete(run.run_id);
    return true;
  }

  /** Returns the price of a call: that of its provider, or else that of the table. */
  #findCost({ cached, cost_usd, tokens, start, provider, model }: ModelCall): StoredCall['cost'] {
    if (cached === true) return { nano: 0, from: 'cache' };
    if (cost_usd !== undefined)
      return { nano: Math.round(cost_usd * NANO_PER_USD), from: 'provider' };
    return tokens && this.#prices().findCost({ provider, model, tokens, at: new Date(start) });
  }

  async #write({ calls, settles }: OfRun): Promise<void> {
    while (calls.length > 0) {
      const taken = calls.slice();
      await this.#batcher.add({ calls: taken, settles });
      calls.splice(0, taken.length);
    }
  }
}

/** Returns the thread, the graph, the assistant and the user of a run, as its calls are stored. */
export function readRunFacts({
  run_id,
  thread_id,
  graph_id,
  revision,
  kwargs,
}: Claimed): Omit<StoredCall, keyof ModelCall | 'cost'> {
  const { assistant_id, langgraph_auth_user_id: user } = kwargs.config.configurable as Json;
  return {
    run_id,
    thread_id,
    graph_id,
    revision,
    assistant_id: typeof assistant_id === 'string' ? assistant_id : null,
    user_id: typeof user === 'string' && user !== '' ? user : null,
  };
}
