import type { RunStatus } from '../../../schema/agent/run.ts';
import type { ModelCall } from '../../../schema/wire/wall/model-call.ts';
import {
  computeBucket,
  MOST_COUNTED,
  computeTokenBucket,
  type RunCounts,
} from '../../../schema/wire/run-counts.ts';

type Histogram = Map<number, number>;
type Counts = {
  done: number;
  errors: number;
  lost: number;
  used: number;
  durations: Histogram;
  waits: Histogram;
  tokens: Histogram;
};
/** `waited`: seconds from the time that it was due; null for one that had begun before. */
type Beginning = {
  run_id: string;
  revision: string | null;
  attempt: number;
  waited: number | null;
};

/** Hears of each run that begins or ends here, in seconds. */
type RunTimes = { waited: (seconds: number) => void; ran: (seconds: number) => void };

/** Counts the runs that begin and end in this process, by their status and by the revision that they belong to. */
export class EndedRuns {
  readonly byStatus = new Map<RunStatus, number>();
  /** Attempts that began here; a later one goes on with a run of another worker. */
  readonly attempts = { first: 0, later: 0 };
  /** Runs under way whose worker was found gone here, by their fate. */
  readonly lostRuns = { continued: 0, ended: 0 };
  readonly #counts = new Map<string, Counts>();
  readonly #underWay = new Map<
    string,
    { revision: string | null; since: number; tokens: number | undefined }
  >();
  #times: RunTimes | undefined;
  #isCompared = false;

  /** Tells somebody how long each run waits and takes from now on. */
  reportTo(times: RunTimes): void {
    this.#times = times;
  }

  /** Returns whether an attempt of a run is to tell its usage. A later one does not know what others have used. */
  decideMeasuring(attempt: number): { measures_usage?: boolean } {
    return attempt === 1 && this.#isCompared ? { measures_usage: true } : {};
  }

  /** Hears whether a revision is tried out. */
  compare(isCompared: boolean): void {
    this.#isCompared = isCompared;
  }

  countBegun({ run_id, revision, attempt, waited }: Beginning): void {
    this.attempts[attempt === 1 ? 'first' : 'later'] += 1;
    const tokens = this.decideMeasuring(attempt).measures_usage === true ? 0 : undefined;
    this.#underWay.set(run_id, { revision, since: Date.now(), tokens });
    if (waited === null) return;
    this.#times?.waited(waited);
    if (revision !== null) add(this.#getCounts(revision).waits, computeBucket(waited));
  }

  /** Hears of calls of a run's models. Where one of them does not tell its tokens, nobody knows those of the run. */
  recordCalls(runId: string, calls: ModelCall[]): void {
    const run = this.#underWay.get(runId);
    if (run === undefined) return;
    for (const { tokens } of calls)
      run.tokens =
        run.tokens === undefined || tokens === undefined
          ? undefined
          : run.tokens + tokens.input + tokens.output;
  }

  /** Counts an end. For the revision, one that somebody asked for counts nothing. */
  countEnded(runId: string, status: RunStatus): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    const run = this.#underWay.get(runId);
    if (run === undefined) return;
    const seconds = measureSeconds(run.since);
    this.#times?.ran(seconds);
    if (run.revision === null || status === 'interrupted') return;
    const counts = this.#getCounts(run.revision);
    counts.done += 1;
    if (status === 'success') add(counts.durations, computeBucket(seconds));
    else counts.errors += 1;
    if (run.tokens === undefined) return;
    add(counts.tokens, computeTokenBucket(run.tokens));
    counts.used += run.tokens;
  }

  /** Says that a run is under way here no longer, however that came. */
  removeRun(runId: string): void {
    this.#underWay.delete(runId);
  }

  /** Counts a worker that was gone before the end of its run. */
  countLost({ revision, ended }: { revision: string | null; ended: boolean }): void {
    this.lostRuns[ended ? 'ended' : 'continued'] += 1;
    if (revision !== null) this.#getCounts(revision).lost += 1;
  }

  get byRevision(): RunCounts[] {
    for (const { revision } of this.#underWay.values())
      if (revision !== null) this.#getCounts(revision);
    return [...this.#counts].map(([revision, { durations, waits, tokens, ...counts }]) => ({
      revision,
      ...counts,
      durations: [...durations],
      waits: [...waits],
      tokens: [...tokens],
      ages: [...this.#countAges(revision)],
    }));
  }

  #countAges(of: string): Histogram {
    const ages: Histogram = new Map();
    for (const { revision, since } of this.#underWay.values())
      if (revision === of) add(ages, computeBucket(measureSeconds(since)));
    return ages;
  }

  #getCounts(revision: string): Counts {
    const counts = this.#counts.get(revision) ?? {
      done: 0,
      errors: 0,
      lost: 0,
      used: 0,
      durations: new Map<number, number>(),
      waits: new Map<number, number>(),
      tokens: new Map<number, number>(),
    };
    // The revision that was counted last is the last to be forgotten.
    this.#counts.delete(revision);
    this.#counts.set(revision, counts);
    for (const name of this.#counts.keys())
      if (this.#counts.size > MOST_COUNTED) this.#counts.delete(name);
    return counts;
  }
}

const measureSeconds = (since: number): number => (Date.now() - since) / 1000;

function add(buckets: Histogram, bucket: number): void {
  buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
}
