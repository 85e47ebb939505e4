import { readFileSync } from 'node:fs';
import type { TokenCounts } from '../../schema/wire/wall/model-call.ts';
import { computeCost, findPrices, type PriceTable, type TimedPrices } from './compute-cost.ts';

const OLD_AFTER_DAYS = 180;
const DAY_MS = 86_400_000;

/** The most models whose prices are remembered: finding them takes some hundred patterns. */
const MAX_MODELS = 1000;

export type PricedCall = {
  provider: string | undefined;
  model: string | undefined;
  tokens: TokenCounts;
  at: Date;
};

/** The prices that this release brings (`make prices` writes them). */
export class Prices {
  readonly #table: PriceTable;
  readonly #found = new Map<string, TimedPrices[] | undefined>();

  constructor() {
    const text = readFileSync(new URL('prices.json', import.meta.url), 'utf8');
    this.#table = JSON.parse(text) as PriceTable;
  }

  /** The day of the table. */
  get date(): string {
    return this.#table.date;
  }

  /** Returns whether the prices are so old that a model may cost something else by now. */
  isOld(now: Date): boolean {
    return now.getTime() - new Date(this.#table.date).getTime() > OLD_AFTER_DAYS * DAY_MS;
  }

  /** Returns the price of a call in billionths of a US dollar; undefined where nobody knows. */
  computeCost({ provider, model, tokens, at }: PricedCall): number | undefined {
    if (model === undefined) return undefined;
    const key = `${provider ?? ''} ${model}`;
    if (!this.#found.has(key)) {
      if (this.#found.size >= MAX_MODELS) this.#found.clear();
      this.#found.set(key, findPrices(this.#table, provider, model));
    }
    const prices = this.#found.get(key);
    return prices && computeCost(prices, tokens, at);
  }
}
