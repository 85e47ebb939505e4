import { BUCKETS, MOST_COUNTED, type RunCounts } from '../../src/schema/wire/run-counts.ts';
import type { WorkReport } from '../../src/schema/wire/work-report.ts';
import { MOST_LIVING } from '../../src/schema/platform/rollout/pins.ts';

/* Reports of made-up processes, within the schema. */

type Pairs = [number, number][];
const MOST = 1_000_000_000;
const REVISIONS = Array.from({ length: MOST_COUNTED }, (_, at) => `sleeper-0000${at + 1}`);

const full = (count: () => number): Pairs =>
  Array.from({ length: BUCKETS }, (_, bucket) => [bucket, count()]);

/** Returns the largest report that the schema takes: full histograms of all revisions, and work pinned to many. */
export function largestReport(from: string): WorkReport {
  const most = (): number => MOST - Math.floor(Math.random() * 1000);
  const ended = REVISIONS.map((revision) => ({
    revision,
    done: most(),
    errors: most(),
    lost: most(),
    used: Number.MAX_SAFE_INTEGER,
    durations: full(most),
    waits: full(most),
    tokens: full(most),
    ages: full(most),
  }));
  const pinned = Array.from({ length: MOST_LIVING }, (_, at) => ({
    revision: `${'p'.repeat(240)}-${at}`,
    due: MOST,
    running: MOST,
    later: MOST,
    next_due: '2026-01-05T00:00:00.000Z',
    waiting: MOST,
  }));
  return {
    from: from.padEnd(64, 'é'),
    slots: MOST,
    idle_seconds: 1e9,
    queue: { due: MOST, running: MOST, webhooks: MOST, next_due: null, pinned },
    server: {
      revision: 'r'.repeat(253),
      version: 'v'.repeat(64),
      guard: 'key',
      mount_prefix: `/${'m'.repeat(200)}`,
    },
    gate: { id: 'g'.repeat(320), status: 'error', message: 'é'.repeat(512) },
    ended,
  };
}

/** Returns any number, most often one near a bound. */
function anyCount(most = MOST): number {
  const kind = Math.random();
  if (kind < 0.2) return 0;
  if (kind < 0.4) return most - Math.floor(Math.random() * 3);
  return Math.floor(most ** Math.random());
}

const anyPairs = (): Pairs =>
  Array.from({ length: Math.random() < 0.3 ? BUCKETS : Math.floor(Math.random() * 30) }, () => [
    Math.floor(Math.random() * BUCKETS),
    anyCount(),
  ]);

/** The counts of the runs of a process, which grow as they please. */
export class HostileProcess {
  readonly #from: string;
  readonly #counts = new Map<string, RunCounts>();

  constructor(from: string) {
    this.#from = from;
  }

  report(): WorkReport {
    for (const revision of REVISIONS.slice(0, 2)) this.#counts.set(revision, this.#next(revision));
    return {
      from: this.#from,
      slots: anyCount(),
      idle_seconds: anyCount(),
      ended: [...this.#counts.values()],
    };
  }

  /** Returns counts that have grown by a possible number as often as by an impossible one. */
  #next(revision: string): RunCounts {
    const before = this.#counts.get(revision);
    if (before === undefined || Math.random() < 0.3)
      return {
        revision,
        done: anyCount(),
        errors: anyCount(),
        lost: anyCount(),
        used: anyCount(Number.MAX_SAFE_INTEGER),
        durations: anyPairs(),
        waits: anyPairs(),
        tokens: anyPairs(),
        ages: anyPairs(),
      };
    const more = Math.floor(Math.random() * 10_000);
    const failed = Math.floor(Math.random() * (more + 1));
    const within = (count: number): number => Math.min(MOST, count);
    const added = (pairs: Pairs | undefined, count: number): Pairs => {
      const [bucket, filled] = [Math.floor(Math.random() * BUCKETS), new Map(pairs)];
      return [...filled.set(bucket, within((filled.get(bucket) ?? 0) + count))];
    };
    return {
      ...before,
      done: within(before.done + more),
      errors: within(before.errors + failed),
      lost: within(before.lost + anyCount(1000)),
      durations: added(before.durations, more - failed),
      waits: added(before.waits, more),
      tokens: added(before.tokens, more),
      ages: anyPairs(),
    };
  }
}
