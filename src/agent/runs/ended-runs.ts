import type { RunStatus } from '../../schema/agent/run.ts';
import { bucketOf, MOST_COUNTED, type RunCounts } from '../../schema/wire/run-counts.ts';

type Counts = { done: number; errors: number; lost: number; durations: Map<number, number> };
type UnderWay = { revision: string | null; since: number };

/** Counts the runs that end in this process, by their status and by the revision that they belong to. */
export class EndedRuns {
  /** By their status. */
  readonly byStatus = new Map<RunStatus, number>();
  readonly #counts = new Map<string, Counts>();
  readonly #underWay = new Map<string, UnderWay>();

  began({ run_id, revision }: { run_id: string; revision: string | null }): void {
    this.#underWay.set(run_id, { revision, since: Date.now() });
  }

  /** Counts an end. For the revision, one that somebody asked for counts nothing. */
  ended(runId: string, status: RunStatus): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    const { revision, since } = this.#underWay.get(runId) ?? { revision: null, since: 0 };
    if (revision === null || status === 'interrupted') return;
    const counts = this.#of(revision);
    counts.done += 1;
    if (status === 'success') add(counts.durations, since);
    else counts.errors += 1;
  }

  /** Says that a run is under way here no longer, however that came. */
  over(runId: string): void {
    this.#underWay.delete(runId);
  }

  /** Counts a worker that was gone before the end of its run. */
  lost(revision: string | null): void {
    if (revision !== null) this.#of(revision).lost += 1;
  }

  /** Returns the counts by revision, with the runs under way. */
  get byRevision(): RunCounts[] {
    for (const { revision } of this.#underWay.values()) if (revision !== null) this.#of(revision);
    return [...this.#counts].map(([revision, { durations, ...counts }]) => ({
      revision,
      ...counts,
      durations: [...durations],
      ages: [...this.#agesOf(revision)],
    }));
  }

  #agesOf(of: string): Map<number, number> {
    const ages = new Map<number, number>();
    for (const { revision, since } of this.#underWay.values()) if (revision === of) add(ages, since);
    return ages;
  }

  #of(revision: string): Counts {
    const counts = this.#counts.get(revision) ?? { done: 0, errors: 0, lost: 0, durations: new Map() };
    // The revision that was counted last is the last to be forgotten.
    this.#counts.delete(revision);
    this.#counts.set(revision, counts);
    for (const name of this.#counts.keys()) if (this.#counts.size > MOST_COUNTED) this.#counts.delete(name);
    return counts;
  }
}

/** Counts the time since a moment. */
function add(buckets: Map<number, number>, since: number): void {
  const bucket = bucketOf((Date.now() - since) / 1000);
  buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
}
