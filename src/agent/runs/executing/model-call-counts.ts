import {
  NO_TOKENS,
  type ModelCall,
  type TokenCounts,
} from '../../../schema/wire/wall/model-call.ts';
import type { StoredCall } from '../../db/usage/model-calls.ts';

/** Models that are counted by name. Names come from graphs, and each one is a series for as long as a process lives. */
const MOST_NAMED = 50;
/** The name of all models behind those. */
const OTHERS = 'other';
/** The name of a call that reports no model. */
const UNNAMED = 'unknown';

/** The calls of one model that this process has recorded since it began. */
export type ModelCounts = {
  byStatus: Record<ModelCall['status'], number>;
  tokens: Record<keyof TokenCounts, number>;
  /** Billionths of a US dollar. */
  costNano: number;
  unreported: number;
  unpriced: number;
  milliseconds: number;
};

const createCounts = (): ModelCounts => ({
  byStatus: { ok: 0, error: 0, cut: 0 },
  tokens: { ...NO_TOKENS },
  costNano: 0,
  unreported: 0,
  unpriced: 0,
  milliseconds: 0,
});

/** Counts calls of models by the model's name, for metrics: at most `MOST_NAMED` of them, the rest together. */
export class ModelCallCounts {
  readonly byModel = new Map<string, ModelCounts>();

  count({ model = UNNAMED, status, tokens, cost, milliseconds }: StoredCall): void {
    const counts = this.#getCounts(model);
    counts.byStatus[status] += 1;
    counts.milliseconds += milliseconds;
    counts.costNano += cost?.nano ?? 0;
    if (cost === undefined) counts.unpriced += 1;
    if (tokens === undefined) counts.unreported += 1;
    for (const [kind, count] of Object.entries(tokens ?? {}))
      counts.tokens[kind as keyof TokenCounts] += count;
  }

  #getCounts(model: string): ModelCounts {
    const isKnown = this.byModel.has(model) || this.byModel.size < MOST_NAMED;
    const name = isKnown ? model : OTHERS;
    const counts = this.byModel.get(name) ?? createCounts();
    this.byModel.set(name, counts);
    return counts;
  }
}
