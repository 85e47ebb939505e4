import type { ReportedUsage, UsageOfDay } from '../../schema/wire/reported-usage.ts';
import type { Database } from '../db/base/pool.ts';
import { sumUsageByDay } from '../db/usage/model-calls.ts';

/* The sums of today and of yesterday, as reports carry them. They weigh on the database as little as they can. */

/** Milliseconds between two looks at least. */
const PACE_MS = 10_000;
/** A look may take a fiftieth of the time, at most. */
const LEAST_PAUSES = 50;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Sums of the calls before a time, which are read once an hour. */
type Settled = { until: number; days: UsageOfDay[] };

/**
 * Sums the calls of models of today and of yesterday, over the whole deployment. Calls that began before the last whole
 * hour are summed once an hour, so that a look reads those of two hours at most, however many a day has.
 */
export class ReportedSums {
  readonly #db: Database;
  readonly #now: () => number;
  #settled: Settled = { until: -Infinity, days: [] };
  #last: ReportedUsage = [];
  #looksAt = -Infinity;

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /** Returns the sums, the last day first. `isLast`: nobody will ask again, so they are read now. */
  async read({ isLast = false } = {}): Promise<ReportedUsage> {
    const began = this.#now();
    if (began < this.#looksAt && !isLast) return this.#last;
    const until = Math.floor(began / HOUR_MS - 1) * HOUR_MS;
    const from = Math.floor(began / DAY_MS - 1) * DAY_MS;
    if (this.#settled.until !== until) {
      const [start, end] = [new Date(from), new Date(until)];
      this.#settled = { until, days: await sumUsageByDay(this.#db, start, end) };
    }
    const live = await sumUsageByDay(this.#db, new Date(Math.max(from, until)), undefined);
    this.#last = addDays([...this.#settled.days, ...live]);
    const ended = this.#now();
    this.#looksAt = ended + Math.max(PACE_MS, LEAST_PAUSES * (ended - began));
    return this.#last;
  }
}

/** Returns the sums of each day, the last one first. */
function addDays(some: UsageOfDay[]): UsageOfDay[] {
  const days = new Map<string, UsageOfDay>();
  for (const one of some) {
    const before = days.get(one.day);
    days.set(one.day, before === undefined ? one : addDay(before, one));
  }
  return [...days.values()].toSorted((one, other) => (one.day < other.day ? 1 : -1)).slice(0, 2);
}

const addDay = (one: UsageOfDay, other: UsageOfDay): UsageOfDay => ({
  day: one.day,
  calls: one.calls + other.calls,
  unreported: one.unreported + other.unreported,
  unpriced: one.unpriced + other.unpriced,
  input: one.input + other.input,
  cache_read: one.cache_read + other.cache_read,
  output: one.output + other.output,
  cost_nano:
    one.cost_nano === null && other.cost_nano === null
      ? null
      : (one.cost_nano ?? 0) + (other.cost_nano ?? 0),
});
