import type { RepriceConfig } from '../../config/agent/usage-reprice.ts';
import type { Log } from '../../log.ts';
import { openDatabase, type Database } from '../db/base/pool.ts';
import { waitForDatabase } from '../db/base/reach.ts';
import { applyMigrations } from '../db/migrate.ts';
import {
  loadCallsToPrice,
  updateSummedPrices,
  writePrices,
  type CallKey,
  type NewPrice,
  type StoredPrice,
} from '../db/usage/priced-calls.ts';
import { readGraphsFile } from '../gx-json/read.ts';
import { NANO_PER_USD } from '../prices/compute-cost.ts';
import { Prices } from '../prices/table.ts';

/** Calls that are read and written together. */
const TOGETHER = 5000;

/** Calls of one model, of which so many have another price now. Prices are billionths of a US dollar. */
type Change = { calls: number; changed: number; before: number; after: number };

type Options = {
  config: RepriceConfig;
  /** Prints a line. */
  out: (line: string) => void;
  log: Log;
  signal: AbortSignal;
};

/** Prices recorded calls again and prints the change for each model. Writes it only if it is asked to. */
export async function repriceUsage({ config, out, log, signal }: Options): Promise<void> {
  const { settings } = readGraphsFile(config.configPath, config.sections);
  const prices = new Prices(settings.usage);
  const { uri, waitSeconds, statementTimeoutSeconds } = config.database;
  const common = { uri, statementTimeoutSeconds, name: 'gx-reprice-usage', poolSize: 1 };
  const db = openDatabase(common, log);
  try {
    await waitForDatabase(db, uri, waitSeconds, log, signal);
    await applyMigrations(db);
    const changes = await repriceCalls(db, prices, { config, signal });
    for (const line of describeChanges(changes)) out(line);
    out(
      config.writes
        ? `These prices are written (gx.json, and the table of ${prices.date}).`
        : `Nothing is written. With --write these prices are (gx.json, and the table of ${prices.date}).`,
    );
  } finally {
    await db.close();
  }
}

async function repriceCalls(
  db: Database,
  prices: Prices,
  { config: { since, writes }, signal }: { config: RepriceConfig; signal: AbortSignal },
): Promise<Map<string, Change>> {
  const changes = new Map<string, Change>();
  let after: CallKey | undefined;
  for (;;) {
    signal.throwIfAborted();
    const calls = await loadCallsToPrice(db, since, { after, limit: TOGETHER });
    const last = calls.at(-1);
    if (last === undefined) break;
    after = last;
    const changed = calls.flatMap((call) => decideChange(call, prices, changes) ?? []);
    if (writes && changed.length > 0) await db.transaction((tx) => writePrices(tx, changed));
  }
  if (writes) await updateSummedPrices(db, since);
  return changes;
}

/** Returns the price of a call where it is another one today, and counts it. */
function decideChange(
  { run_id, call_id, started_at, ...call }: StoredPrice,
  prices: Prices,
  changes: Map<string, Change>,
): NewPrice | undefined {
  const cost = prices.findCost({
    provider: call.provider ?? undefined,
    model: call.model ?? undefined,
    tokens: call.tokens,
    at: started_at,
  });
  const nano = cost?.nano ?? null;
  const isSame = nano === call.cost_nano;
  const name = call.model ?? 'unknown';
  const before = changes.get(name) ?? { calls: 0, changed: 0, before: 0, after: 0 };
  changes.set(name, {
    calls: before.calls + 1,
    changed: before.changed + (isSame ? 0 : 1),
    before: before.before + (call.cost_nano ?? 0),
    after: before.after + (nano ?? 0),
  });
  return isSame ? undefined : { run_id, call_id, nano, from: cost?.from ?? null };
}

const formatUsd = (nano: number): string => `$${(nano / NANO_PER_USD).toFixed(6)}`;

function describeChanges(changes: Map<string, Change>): string[] {
  if (changes.size === 0) return ['There are no calls with tokens since that day.'];
  return [...changes]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([model, { calls, changed, before, after }]) =>
        `${model}: ${changed} of ${calls} calls have another price; ${formatUsd(before)} becomes ${formatUsd(after)}`,
    );
}
