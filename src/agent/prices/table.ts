import { readFileSync } from 'node:fs';
import type { Log } from '../../log.ts';
import type { TokenCounts } from '../../schema/wire/wall/model-call.ts';
import type { UsageSettings } from '../../schema/agent/gx-json.ts';
import {
  computeCost,
  findPrices,
  type PriceTable,
  type TimedPrices,
  type TokenPrices,
} from './compute-cost.ts';

const OLD_AFTER_DAYS = 180;
const DAY_MS = 86_400_000;

/** The most models whose prices are remembered: finding them takes some hundred patterns. */
const MAX_MODELS = 1000;

/** Reads the prices. Warns of those that are old. */
export function openPrices(settings: UsageSettings | undefined, log: Log): Prices {
  const prices = new Prices(settings);
  if (prices.isOld(new Date()))
    log.warn(
      { date: prices.date },
      'the prices of models are of more than 180 days ago: newer models have none',
    );
  return prices;
}

/** Billionths of a US dollar, and where the price is from. */
export type Cost = { nano: number; from: string };

export type PricedCall = {
  provider: string | undefined;
  model: string | undefined;
  tokens: TokenCounts;
  at: Date;
};

/**
 * The prices of gx.json, and those that this release brings (`make prices` writes them). Names of models that are a
 * deployment's or a gateway's own may stand for others.
 */
export class Prices {
  readonly #table: PriceTable;
  readonly #own: ReadonlyMap<string, TokenPrices>;
  readonly #models: ReadonlyMap<string, string>;
  readonly #found = new Map<string, TimedPrices[] | undefined>();

  constructor({ prices = {}, models = {} }: UsageSettings = {}) {
    this.#own = new Map(Object.entries(prices));
    this.#models = new Map(Object.entries(models));
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

  /** Returns the price of a call; undefined where nobody knows. */
  findCost({ provider, model: named, tokens, at }: PricedCall): Cost | undefined {
    if (named === undefined) return undefined;
    const model = this.#models.get(named) ?? named;
    const own = this.#own.get(`${provider ?? ''}/${model}`) ?? this.#own.get(model);
    if (own !== undefined)
      return { nano: computeCost([{ prices: own }], tokens, at), from: 'gx.json' };
    const prices = this.#findInTable(provider, model);
    return (
      prices && { nano: computeCost(prices, tokens, at), from: `table of ${this.#table.date}` }
    );
  }

  #findInTable(provider: string | undefined, model: string): TimedPrices[] | undefined {
    const key = `${provider ?? ''} ${model}`;
    if (!this.#found.has(key)) {
      if (this.#found.size >= MAX_MODELS) this.#found.clear();
      this.#found.set(key, findPrices(this.#table, provider, model));
    }
    return this.#found.get(key);
  }
}
