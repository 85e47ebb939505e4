import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Match } from '../../src/agent/prices/match.ts';
import type {
  PriceTable,
  ProviderPrices,
  TimedPrices,
  TokenPrices,
} from '../../src/agent/prices/compute-cost.ts';
import type { TokenCounts } from '../../src/schema/wire/wall/model-call.ts';
import { printLine, runMain } from '../steps.ts';

/*
 * Makes the table of prices from the newest `@pydantic/genai-prices` of npm (MIT), and records some hundred prices as
 * that package computes them, with which a test compares ours.
 */

const PACKAGE = '@pydantic/genai-prices';
const TABLE = 'src/agent/prices/prices.json';
const RECORDED = 'test/agent/prices/recorded.json';

/** Their names of prices, for a million tokens, and ours. All others are of no call of a model that writes. */
const NAMES: Record<string, keyof TokenPrices> = {
  input_mtok: 'input',
  output_mtok: 'output',
  cache_read_mtok: 'cache_read',
  cache_write_mtok: 'cache_write',
  cache_write_1h_mtok: 'cache_write_1h',
  input_audio_mtok: 'audio_in',
  output_audio_mtok: 'audio_out',
  output_reasoning_mtok: 'reasoning',
  requests_kcount: 'requests',
};

type TheirPrices = Record<string, unknown>;
type TheirConstraint =
  | { type: 'start_date'; start_date: string }
  | { type: 'time_of_date'; start_time: string; end_time: string };
type TheirModel = {
  id: string;
  match: Match;
  prices: TheirPrices | { constraint?: TheirConstraint; prices: TheirPrices }[];
};
type TheirProvider = {
  id: string;
  provider_match?: Match;
  model_match?: Match;
  fallback_model_providers?: string[];
  models: TheirModel[];
};
type Theirs = {
  waitForUpdate(): Promise<TheirProvider[]>;
  calcPrice(
    usage: Record<string, number>,
    model: string,
    options: { providerId?: string; timestamp: Date },
  ): { total_price: number } | null;
};

export type RecordedPrice = {
  provider?: string;
  model: string;
  tokens: TokenCounts;
  at: string;
  /** Billionths of a US dollar; null where there is no price. */
  nano: number | null;
};

function convertPrices(prices: TheirPrices): TokenPrices {
  return Object.fromEntries(
    Object.entries(prices).flatMap(([name, price]) =>
      NAMES[name] === undefined ? [] : [[NAMES[name], price]],
    ),
  ) as TokenPrices;
}

function convertTimed({ prices }: TheirModel): TimedPrices[] {
  if (!Array.isArray(prices)) return [{ prices: convertPrices(prices) }];
  return prices.map(({ constraint, prices: some }) => ({
    ...(constraint?.type === 'start_date' && { from: constraint.start_date }),
    ...(constraint?.type === 'time_of_date' && {
      between: [constraint.start_time, constraint.end_time] as [string, string],
    }),
    prices: convertPrices(some),
  }));
}

const hasTokenPrices = ({ prices }: { prices: TimedPrices[] }): boolean =>
  prices.some((timed) => Object.keys(timed.prices).length > 0);

const convertProvider = (theirs: TheirProvider): ProviderPrices => ({
  id: theirs.id,
  ...(theirs.provider_match && { names: theirs.provider_match }),
  ...(theirs.model_match && { owns: theirs.model_match }),
  ...(theirs.fallback_model_providers && { fallbacks: theirs.fallback_model_providers }),
  models: theirs.models
    .map((model) => ({ match: model.match, prices: convertTimed(model) }))
    .filter(hasTokenPrices),
});

/** Counts that try each part of a price: short and long prompts, with and without caches. */
const TOKENS: TokenCounts[] = [
  { input: 1000, output: 100 },
  { input: 21_021, output: 393, cache_read: 18_000, cache_write: 1000 },
  { input: 300_000, output: 2000, cache_read: 250_000 },
  { input: 3500, output: 0, cache_write: 3000 },
];

const TIMES = ['2025-06-01T03:00:00Z', '2026-09-20T18:00:00Z'];

/** Records the price of each model of the providers that LangChain has packages for, by turns of counts and times. */
function recordPrices({ calcPrice }: Theirs, providers: TheirProvider[]): RecordedPrice[] {
  const named = ['openai', 'anthropic', 'google', 'aws', 'azure', 'mistral', 'groq', 'deepseek'];
  const asked = providers
    .filter(({ id }) => named.includes(id))
    .flatMap(({ id, models }) =>
      models
        .filter((model) => hasTokenPrices({ prices: convertTimed(model) }))
        .map((model) => ({ provider: id, model: model.id })),
    );
  const more: { provider?: string; model: string }[] = [
    { provider: 'google_genai', model: 'gemini-2.5-pro' },
    { provider: 'amazon_bedrock', model: 'anthropic.claude-sonnet-4-5-20250929-v1:0' },
    { provider: 'azure', model: 'gpt-4.1-2025-04-14' },
    { provider: 'ollama', model: 'llama3.2' },
    { provider: 'openai', model: 'our-deployment' },
    { model: 'claude-opus-4-5-20251101' },
    { model: 'nobody-knows' },
  ];
  return [...asked, ...more].flatMap(({ provider, model }, turn) =>
    TIMES.map((at, index): RecordedPrice => {
      const tokens = TOKENS[(turn + index) % TOKENS.length]!;
      const price = calcPrice(
        {
          input_tokens: tokens.input,
          output_tokens: tokens.output,
          cache_read_tokens: tokens.cache_read ?? 0,
          cache_write_tokens: tokens.cache_write ?? 0,
        },
        model,
        { ...(provider !== undefined && { providerId: provider }), timestamp: new Date(at) },
      );
      const nano = price && Math.round(price.total_price * 1e9);
      return { ...(provider !== undefined && { provider }), model, tokens, at, nano };
    }),
  );
}

async function main(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'prices-'));
  const view = (field: string): unknown =>
    JSON.parse(execFileSync('npm', ['view', PACKAGE, field, '--json'], { encoding: 'utf8' }));
  const version = view('version') as string;
  const date = (view('time') as Record<string, string>)[version]!;
  execFileSync('npm', ['install', '--prefix', folder, '--no-save', `${PACKAGE}@${version}`]);
  const module = path.join(folder, 'node_modules', PACKAGE, 'dist/index.js');
  const theirs = (await import(pathToFileURL(module).href)) as Theirs;
  const providers = await theirs.waitForUpdate();
  const license = readFileSync(path.join(folder, 'node_modules', PACKAGE, 'LICENSE'), 'utf8');
  const table: PriceTable & { license: string } = {
    source: `${PACKAGE} ${version}`,
    date: date.slice(0, 10),
    license: license.trim(),
    providers: providers.map(convertProvider),
  };
  writeFileSync(TABLE, `${JSON.stringify(table)}\n`);
  const recorded = recordPrices(theirs, providers);
  writeFileSync(RECORDED, `[\n${recorded.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`);
  rmSync(folder, { recursive: true });
  printLine(`${TABLE}: ${table.source} of ${table.date}; ${recorded.length} prices recorded`);
}

await runMain(main);
