import type { KeptReport } from '../../schema/wire/work-report.ts';
import { LastReports, type KeptEntry } from '../../work/last-reports.ts';
import { type WorkSummary, summarizeReports } from '../../schema/wire/work-summary.ts';
import type { GateReport, ServerFacts } from '../../schema/wire/work-report.ts';
import { chooseStricterGuard } from '../../schema/platform/deployment/guards.ts';
import { type EndCounts, NO_RUNS } from './verdict.ts';
import { COMPARED_PROCESS_BYTES, ComparedRuns, type ComparedPair } from './compared-runs.ts';

const MEBIBYTE = 1024 * 1024;
/**
 * Bytes that are kept of reports: 2,000 processes of a deployment with usual ones take 2 MB, and 13 MB while their runs
 * are compared.
 */
const BOUNDS = { each: 16 * MEBIBYTE, all: 64 * MEBIBYTE };

/** The deployments that a page has reports of, and those whose servers may be other ones. */
export type Added = { deployments: string[]; learned: string[] };

/** Returns the revisions of a deployment whose runs are compared. Undefined: none are. */
type Comparing = (deployment: string) => ComparedPair | undefined;

/** The reports of gateways, as far as the operator knows them. Times are milliseconds of any clock. */
export class ReportedWork {
  readonly #comparing: Comparing;
  readonly #known: LastReports<KeptEntry>;
  /** By deployment, while a revision is tried out there and has checks. */
  readonly #compared = new Map<string, ComparedRuns>();

  constructor(comparing: Comparing, bounds = BOUNDS) {
    this.#comparing = comparing;
    this.#known = new LastReports({
      bounds,
      dropped: (deployment, { from }) => this.#compared.get(deployment)?.leave(from),
    });
  }

  get bytes(): number {
    return this.#known.bytes;
  }

  /**
   * Adds a page. Returns the deployments that it has reports of, and those of them with facts of a server that its
   * process has not reported before.
   */
  add({ reports }: { reports: Record<string, KeptReport[]> }, now: number): Added {
    const learned = new Set<string>();
    for (const [deployment, some] of Object.entries(reports)) {
      const compared = this.#getComparedRuns(deployment);
      for (const { age_seconds: age, counts, ...report } of some) {
        const at = now - age * 1000;
        const { from } = report;
        const before = this.#known.get(deployment, from);
        if ((before?.at ?? -Infinity) >= at) continue;
        if (!isSameServer(before?.report.server, report.server)) learned.add(deployment);
        this.#known.keep(deployment, {
          from,
          report,
          at,
          extra: compared === undefined ? 0 : COMPARED_PROCESS_BYTES,
        });
        compared?.addReport(from, counts, at);
      }
    }
    return { deployments: Object.keys(reports), learned: [...learned] };
  }

  /** Returns the counts of a revision that is compared. Only their growth has a meaning. */
  getCounts(deployment: string, revision: string): EndCounts {
    return this.#getComparedRuns(deployment)?.getCounts(revision) ?? NO_RUNS;
  }

  /** Returns the runs under way of a revision that is compared, each by the bucket of the time since it began. */
  getAges(deployment: string, revision: string, now: number): number[] {
    this.#known.listLiveReports(deployment, now);
    return this.#getComparedRuns(deployment)?.getAges(revision) ?? [];
  }

  /** Forgets the counts of a deployment if none are compared any more. */
  dropStaleCounts(deployment: string): void {
    this.#getComparedRuns(deployment);
  }

  /** Returns the last word on the gate of a deployment's revision. */
  getGateReport(deployment: string, now: number): GateReport | undefined {
    let last: GateReport | undefined;
    for (const { report } of this.#known.listLiveReports(deployment, now))
      last = report.gate ?? last;
    return last;
  }

  /** Returns the summary of the work of a deployment. Undefined while nothing was reported lately. */
  getSummary(deployment: string, now: number): WorkSummary | undefined {
    return summarizeReports(this.#known.listLiveReports(deployment, now), now);
  }

  /** Returns the facts of the servers of a deployment that were reported lately, by the name of their revision. */
  getServers(deployment: string, now: number): Map<string, ServerFacts> {
    return mergeServerFacts(this.#known.listLiveReports(deployment, now));
  }

  /** Returns the runs that are compared now. With another pair they are counted from the start. */
  #getComparedRuns(deployment: string): ComparedRuns | undefined {
    const pair = this.#comparing(deployment);
    const known = this.#compared.get(deployment);
    if (pair === undefined) {
      this.#compared.delete(deployment);
      return undefined;
    }
    if (known?.isOf(pair) === true) return known;
    const compared = new ComparedRuns(pair);
    this.#compared.set(deployment, compared);
    return compared;
  }
}

const isSameServer = (one: ServerFacts | undefined, other: ServerFacts | undefined): boolean =>
  one?.revision === other?.revision &&
  one?.version === other?.version &&
  one?.guard === other?.guard &&
  one?.mount_prefix === other?.mount_prefix;

/**
 * Returns the facts of each revision by the reports of its processes, the oldest first. Code of a deployment has the
 * key that reports are sent with, so of several reports the strictest counts; of equal ones the last.
 */
function mergeServerFacts(heard: Iterable<KeptEntry>): Map<string, ServerFacts> {
  const found = new Map<string, ServerFacts>();
  for (const { report } of heard) {
    const facts = report.server;
    if (facts === undefined) continue;
    const known = found.get(facts.revision);
    if (chooseStricterGuard(known?.guard, facts.guard) === facts.guard)
      found.set(facts.revision, facts);
  }
  return found;
}

/** Called with the seconds since a deployment's log last came to its store. Undefined: nothing is known of it. */
export type Lagged = (deployment: string, seconds: number | undefined) => void;

/** Passes on how far the logs of deployments are behind at their stores. */
export class ArchiveLags {
  readonly #lagOf: (deployment: string) => number | undefined;
  readonly #lagged: Lagged;
  readonly #known = new Set<string>();

  constructor(lagOf: (deployment: string) => number | undefined, lagged: Lagged) {
    this.#lagOf = lagOf;
    this.#lagged = lagged;
  }

  /** Looks at those that have reported, and at those that may report no more. */
  reportLags(changed: Iterable<string>): void {
    for (const deployment of new Set([...changed, ...this.#known])) {
      const lag = this.#lagOf(deployment);
      const wasKnown = this.#known.delete(deployment);
      if (lag !== undefined) this.#known.add(deployment);
      if (lag !== undefined || wasKnown) this.#lagged(deployment, lag);
    }
  }
}
