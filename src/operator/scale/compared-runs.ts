import {
  BUCKETS,
  HISTOGRAMS,
  type FlatCounts,
  type HistogramName,
} from '../../schema/wire/run-counts.ts';
import { NO_RUNS, type EndCounts } from './verdict.ts';

/** A revision that is tried out, and the one that serves. */
export type ComparedPair = { candidate: string; stable: string };

type Buckets = Uint32Array | Float64Array;
/** Numbers about one revision. `buckets`: those of all histograms, one behind the other. */
type RunTable = { done: number; errors: number; lost: number; used: number; buckets: Buckets };

const SIZE = HISTOGRAMS.length * BUCKETS;
/** The first bucket of a histogram among all, and the one behind its last. */
type Range = readonly [first: number, end: number];
const buildRange = (index: number): Range => [index * BUCKETS, (index + 1) * BUCKETS];
const RANGES: Record<HistogramName, Range> = {
  durations: buildRange(0),
  waits: buildRange(1),
  tokens: buildRange(2),
  ages: buildRange(3),
};
const AGES = RANGES.ages;

const buildEmptyTable = (buckets: Buckets): RunTable => ({
  done: 0,
  errors: 0,
  lost: 0,
  used: 0,
  buckets,
});
const NOTHING = buildEmptyTable(new Uint32Array(SIZE));

/** Bytes that a process takes: two tables of 584 buckets with four bytes each, and the objects around them. */
export const COMPARED_PROCESS_BYTES = 2 * (HISTOGRAMS.length * BUCKETS * 4 + 300);

/**
 * Runs that one process begins or ends in a second at most, ten times as many as the quickest was measured with. Who
 * says more has made it up. Reports come up to some seconds late.
 */
const MOST_RUNS_A_SECOND = 2000;
const LATE_SECONDS = 5;
/** Runs under way in one process at most. */
const MOST_UNDER_WAY = 10_000;

/**
 * The runs of the two revisions of a trial, summed up as reports arrive. The time for a report does not follow from the
 * numbers in it, and each process takes the same memory.
 */
export class ComparedRuns {
  readonly #pair: ComparedPair;
  readonly #processes = new Map<string, { at: number; tables: Map<string, RunTable> }>();
  readonly #totals: Map<string, RunTable>;

  constructor(pair: ComparedPair) {
    this.#pair = pair;
    this.#totals = new Map(
      [pair.candidate, pair.stable].map((revision) => [
        revision,
        buildEmptyTable(new Float64Array(SIZE)),
      ]),
    );
  }

  get size(): number {
    return this.#processes.size;
  }

  isOf({ candidate, stable }: ComparedPair): boolean {
    return candidate === this.#pair.candidate && stable === this.#pair.stable;
  }

  /**
   * Adds the growth of a process's counts since its last report. The first one with counts is where they begin. `at`:
   * when it came, in milliseconds.
   */
  addReport(from: string, counted: readonly FlatCounts[] | undefined, at: number): void {
    const before = this.#processes.get(from);
    if (counted === undefined) {
      this.leave(from);
      return;
    }
    const tables = new Map<string, RunTable>();
    for (const counts of counted)
      if (this.#totals.has(counts.revision) && !tables.has(counts.revision))
        tables.set(counts.revision, buildTable(counts));
    const most = before && MOST_RUNS_A_SECOND * ((at - before.at) / 1000 + LATE_SECONDS);
    for (const [revision, total] of this.#totals) {
      const [former, now] = [
        before?.tables.get(revision) ?? NOTHING,
        tables.get(revision) ?? NOTHING,
      ];
      move(total.buckets, { from: former.buckets, to: now.buckets }, AGES);
      if (most !== undefined && now !== NOTHING && mayGrow(former, now, most))
        grow(total, former, now);
    }
    this.#processes.set(from, { at, tables });
  }

  /** Forgets a process. Its runs under way are no longer there; those that it counted are. */
  leave(from: string): void {
    const known = this.#processes.get(from);
    if (known === undefined) return;
    for (const [revision, { buckets }] of known.tables) {
      const total = this.#totals.get(revision);
      if (total !== undefined) move(total.buckets, { from: buckets, to: NOTHING.buckets }, AGES);
    }
    this.#processes.delete(from);
  }

  /** Returns the counts of a revision. Only their growth has a meaning. */
  getCounts(revision: string): EndCounts {
    const total = this.#totals.get(revision);
    if (total === undefined) return NO_RUNS;
    const { buckets, ...numbers } = total;
    const pickHistogram = (name: HistogramName): number[] => [...buckets.subarray(...RANGES[name])];
    return {
      ...numbers,
      durations: pickHistogram('durations'),
      waits: pickHistogram('waits'),
      tokens: pickHistogram('tokens'),
    };
  }

  /** Returns the runs under way of a revision, by the bucket of the time since each began. */
  getAges(revision: string): number[] {
    return [...(this.#totals.get(revision)?.buckets.subarray(...AGES) ?? [])];
  }
}

function buildTable({ done, errors, lost, used = 0, ...histograms }: FlatCounts): RunTable {
  const table = { done, errors, lost, used, buckets: new Uint32Array(SIZE) };
  for (const name of HISTOGRAMS) {
    const [first, end] = RANGES[name];
    const pairs = histograms[name] ?? [];
    for (let at = 0; at + 1 < pairs.length; at += 2)
      if (pairs[at]! < end - first) table.buckets[first + pairs[at]!]! += pairs[at + 1]!;
  }
  if (sumBuckets(table.buckets, AGES) > MOST_UNDER_WAY) table.buckets.fill(0, ...AGES);
  return table;
}

const sumBuckets = (buckets: Buckets, [first, end]: Range): number => {
  let sum = 0;
  for (let at = first; at < end; at += 1) sum += buckets[at]!;
  return sum;
};

/** Returns how much a histogram has grown. Undefined: a bucket of it has fewer than before. */
function sumGrowth(
  { buckets: former }: RunTable,
  { buckets: now }: RunTable,
  [first, end]: Range,
): number | undefined {
  let sum = 0;
  for (let at = first; at < end; at += 1) {
    const more = now[at]! - former[at]!;
    if (more < 0) return undefined;
    sum += more;
  }
  return sum;
}

/** Returns whether one process can have counted so many more, where it begins and ends `most` at most. */
function mayGrow(former: RunTable, now: RunTable, most: number): boolean {
  const diffNumber = (name: 'done' | 'errors' | 'lost' | 'used'): number =>
    now[name] - former[name];
  const diffHistogram = (name: HistogramName): number =>
    sumGrowth(former, now, RANGES[name]) ?? Infinity;
  const [done, errors, lost] = [diffNumber('done'), diffNumber('errors'), diffNumber('lost')];
  if (
    done < 0 ||
    errors < 0 ||
    lost < 0 ||
    diffNumber('used') < 0 ||
    Math.max(done, lost) > most ||
    errors > done
  )
    return false;
  return (
    diffHistogram('durations') <= done - errors &&
    diffHistogram('tokens') <= done &&
    diffHistogram('waits') <= most
  );
}

function grow(total: RunTable, former: RunTable, now: RunTable): void {
  for (const name of ['done', 'errors', 'lost', 'used'] as const)
    total[name] += now[name] - former[name];
  move(total.buckets, { from: former.buckets, to: now.buckets }, [0, AGES[0]]);
}

/** Adds the change of some buckets to their sums. */
function move(
  sums: Buckets,
  { from, to }: { from: Buckets; to: Buckets },
  [first, end]: Range,
): void {
  for (let at = first; at < end; at += 1) sums[at]! += to[at]! - from[at]!;
}
