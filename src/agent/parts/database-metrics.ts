import { Gauge, type Registry } from 'prom-client';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { loadDatabaseStats, type DatabaseStats } from '../db/base/stats.ts';
import type { AgentDeps } from './deps.ts';

/** Milliseconds for which an answer is reused: all pods of a deployment are scraped, each every 15 or 30 seconds. */
const GOOD_FOR = 10_000;
/**
 * Milliseconds within which an answer has to come, so that a database that hangs is reported before the scrape gives up
 * (after ten seconds by default).
 */
const WITHIN = 2000;

const HELP: Record<keyof DatabaseStats, string> = {
  connections: 'Connections of clients to the database server.',
  connections_max: 'Maximum number of connections that it accepts.',
  oldest_transaction_seconds:
    'Age of the oldest open transaction of this login: it keeps vacuum from removing dead rows.',
  rows_live: 'Rows of all tables, as far as Postgres has counted.',
  rows_dead: 'Dead rows of all tables, which vacuum has yet to remove.',
  size_bytes: 'Size of the database without the log.',
  deadlocks: 'Deadlocks since the statistics began.',
  read_only:
    '1 while the database accepts no writes: its volume is full, or someone made it read-only.',
};
const NAMES = Object.keys(HELP) as (keyof DatabaseStats)[];

/** Returns the database's answer, or undefined when it fails or hangs, because the scrape must do neither. */
export async function waitInTime<T>(answer: Promise<T>, log: Log): Promise<T | undefined> {
  const late = new Promise<never>((_, reject) =>
    setTimeout(reject, WITHIN, new Error('no answer in time')).unref(),
  );
  try {
    return await Promise.race([answer, late]);
  } catch (error) {
    log.warn({ err: toError(error) }, 'metrics could not be read from the database');
    return undefined;
  }
}

/**
 * Makes the metrics of the database itself. When it does not answer in time, `gx_database_up` is 0 and the others are
 * NaN.
 */
export function createDatabaseMetrics(
  { db, log }: AgentDeps,
  registers: Registry[],
): () => Promise<object> {
  const up = new Gauge({
    name: 'gx_database_up',
    help: '1 when the database answered.',
    registers,
  });
  const gauges = NAMES.map(
    (name) =>
      [name, new Gauge({ name: `gx_database_${name}`, help: HELP[name], registers })] as const,
  );
  let asked: Promise<DatabaseStats | undefined> | undefined;
  let until = 0;
  return async () => {
    if (asked === undefined || performance.now() > until) {
      until = performance.now() + GOOD_FOR;
      asked = waitInTime(loadDatabaseStats(db), log);
    }
    const stats = await asked;
    up.set(stats === undefined ? 0 : 1);
    for (const [name, gauge] of gauges) gauge.set(stats?.[name] ?? Number.NaN);
    return { up: stats !== undefined, ...stats };
  };
}
