import type { TokenCounts } from '../../schema/wire/wall/model-call.ts';
import { matchText, type Match } from './match.ts';

/*
 * The price of a call by a table of prices. The table and its rules are those of genai-prices: tokens of caches and of
 * sound are parts of the input, a part without a price has that of the whole, and a long prompt sets the step of all.
 */

/** US dollars for a million tokens: the same for all calls, or for those with more tokens of input than `start`. */
type Price = number | { base: number; tiers: { start: number; price: number }[] };

/** A part is absent where it costs as much as the rest of its side. */
export type TokenPrices = {
  input?: Price;
  output?: Price;
  cache_read?: Price;
  cache_write?: Price;
  cache_write_1h?: Price;
  audio_in?: Price;
  audio_out?: Price;
  reasoning?: Price;
  /** US dollars for a thousand requests. */
  requests?: number;
};

/** Prices from a date on, or between two times of the day in UTC, such as `16:30:00Z`. */
export type TimedPrices = { from?: string; between?: [string, string]; prices: TokenPrices };

export type ModelPrices = { match: Match; prices: TimedPrices[] };

export type ProviderPrices = {
  id: string;
  /** The names of the provider, besides its id. */
  names?: Match;
  /** The models that are this provider's where nobody names one. */
  owns?: Match;
  /** Providers whose prices count for models that this one has no price of. */
  fallbacks?: string[];
  models: ModelPrices[];
};

export type PriceTable = {
  source: string;
  /** When the prices were published. */
  date: string;
  providers: ProviderPrices[];
};

/** Money is whole billionths of a US dollar. */
export const NANO_PER_USD = 1_000_000_000;

/** Prices are in US dollars for a million tokens, and for a thousand requests. */
const NANO_PER_TOKEN = NANO_PER_USD / 1_000_000;
const NANO_PER_REQUEST = NANO_PER_USD / 1000;

/** Finds the prices of a model. `provider`: undefined where nobody names it. */
export function findPrices(
  { providers }: PriceTable,
  provider: string | undefined,
  model: string,
): TimedPrices[] | undefined {
  const owner = findProvider(providers, { provider, model });
  return owner && findModel(providers, owner, model)?.prices;
}

/** Returns the price of a call at a moment in billionths of a US dollar. */
export const computeCost = (prices: TimedPrices[], tokens: TokenCounts, at: Date): number =>
  Math.round(sumPrices(choosePrices(prices, at), tokens));

function findProvider(
  providers: ProviderPrices[],
  { provider, model }: { provider: string | undefined; model: string },
): ProviderPrices | undefined {
  if (provider === undefined) return providers.find(({ owns }) => owns && matchText(owns, model));
  const name = provider.toLowerCase().trim();
  return (
    providers.find(({ id }) => id === name) ??
    providers.find(({ names }) => names && matchText(names, name))
  );
}

/** Finds a model by its name, and by that with hyphens in its date: `-20250929` as `-2025-09-29`. */
function findModel(
  providers: ProviderPrices[],
  owner: ProviderPrices,
  model: string,
): ModelPrices | undefined {
  const dated = model.replaceAll(/-(20\d\d)(\d\d)(\d\d)(?=-|:|$)/g, '-$1-$2-$3');
  const owners = [owner, ...providers.filter(({ id }) => owner.fallbacks?.includes(id))];
  for (const name of new Set([model, dated]))
    for (const { models } of owners) {
      const found = models.find(({ match }) => matchText(match, name));
      if (found !== undefined) return found;
    }
  return undefined;
}

/** Returns the prices of a moment: the last ones whose time it is. */
function choosePrices(prices: TimedPrices[], at: Date): TokenPrices {
  return (prices.findLast((timed) => isInForce(timed, at)) ?? prices[0]!).prices;
}

function isInForce({ from, between }: TimedPrices, at: Date): boolean {
  if (from !== undefined) return at >= new Date(from);
  if (between === undefined) return true;
  const now = at.toISOString().slice(11, 19);
  const [start, end] = between.map((time) => time.slice(0, 8)) as [string, string];
  return end < start ? now >= start || now < end : now >= start && now < end;
}

function sumPrices(prices: TokenPrices, tokens: TokenCounts): number {
  const { input, output, cache_read = 0, cache_write = 0, cache_write_1h = 0 } = tokens;
  const { audio_in = 0, audio_out = 0, reasoning = 0 } = tokens;
  const written = prices.cache_write ?? prices.input;
  // Each part with its price; a part without one costs as much as the whole.
  const parts: [number, Price | undefined][] = [
    [cache_read, prices.cache_read ?? prices.input],
    [cache_write, written],
    [cache_write_1h, prices.cache_write_1h ?? written],
    [audio_in, prices.audio_in ?? prices.input],
    [Math.max(0, input - cache_read - cache_write - cache_write_1h - audio_in), prices.input],
    [audio_out, prices.audio_out ?? prices.output],
    [reasoning, prices.reasoning ?? prices.output],
    [Math.max(0, output - audio_out - reasoning), prices.output],
  ];
  const sum = parts.reduce((all, [count, price]) => all + count * readPrice(price, input), 0);
  return sum * NANO_PER_TOKEN + (prices.requests ?? 0) * NANO_PER_REQUEST;
}

/** Returns the price of a token for a prompt of this length, in dollars for a million. */
function readPrice(price: Price | undefined, input: number): number {
  if (price === undefined || typeof price === 'number') return price ?? 0;
  return price.tiers.findLast(({ start }) => input > start)?.price ?? price.base;
}
