import { type WorkSummary, workOf } from '../../schema/wire/work-summary.ts';
import {
  type GateReport,
  type KeptReport,
  MOST_PROCESSES,
  REPORT_LIFE,
  type ReportsPage,
  type ServerFacts,
  type WorkReport,
} from '../../schema/wire/work-report.ts';
import { MOST_LIVING } from '../../schema/platform/pins.ts';
import { stricterGuard } from '../../schema/platform/revision.ts';
import { grown, histogramOf, NO_RUNS, plus, type EndCounts } from './verdict.ts';

type Known = { report: WorkReport; at: number };

/** The deployments that a page has reports of, and those whose servers may be other ones. */
export type Added = { deployments: string[]; learned: string[] };

/** The counts of runs by revision, as they have grown since their processes were known. */
export type CountsByRevision = ReadonlyMap<string, EndCounts>;

/** The reports of gateways, as far as the operator knows them. Times are milliseconds of any clock. */
export class ReportedWork {
  readonly #known = new Map<string, Map<string, Known>>();
  /** By deployment and revision, while one is tried out there. */
  readonly #counts = new Map<string, Map<string, EndCounts>>();

  /**
   * Adds a page. Returns the deployments that it has reports of, and those of them with facts of a server that its
   * process has not reported before. Of too many processes of one deployment, those that reported first are forgotten.
   */
  add({ reports }: Pick<ReportsPage, 'reports'>, now: number): Added {
    const learned = new Set<string>();
    for (const [deployment, some] of Object.entries(reports)) {
      const processes = this.#known.get(deployment) ?? new Map<string, Known>();
      for (const { age_seconds: age, ...report } of some) {
        const at = now - age * 1000;
        const before = processes.get(report.from);
        if ((before?.at ?? -Infinity) >= at) continue;
        if (!isSameServer(before?.report.server, report.server)) learned.add(deployment);
        this.#count(deployment, { before: before?.report, report });
        processes.delete(report.from);
        processes.set(report.from, { report, at });
      }
      for (const from of processes.keys()) {
        if (processes.size <= MOST_PROCESSES) break;
        processes.delete(from);
      }
      this.#known.set(deployment, processes);
    }
    return { deployments: Object.keys(reports), learned: [...learned] };
  }

  /** Returns the counts of a deployment's revisions. Only their growth has a meaning. */
  counts(deployment: string): CountsByRevision {
    return this.#counts.get(deployment) ?? new Map();
  }

  /** Returns the runs under way by their revision, each by the bucket of the time since it began. */
  ages(deployment: string, now: number): ReadonlyMap<string, number[]> {
    const found = new Map<string, [number, number][]>();
    for (const { report } of this.#living(deployment, now))
      for (const { revision, ages } of report.ended ?? []) found.set(revision, [...(found.get(revision) ?? []), ...ages]);
    return new Map([...found].map(([revision, ages]) => [revision, histogramOf(ages)]));
  }

  /** Returns the last word on the gate of a deployment's revision. */
  gate(deployment: string, now: number): GateReport | undefined {
    return this.#living(deployment, now).findLast(({ report }) => report.gate !== undefined)?.report.gate;
  }

  /** Forgets the counts of a deployment. */
  forgetCounts(deployment: string): void {
    this.#counts.delete(deployment);
  }

  /** Adds the growth of a process's counts since its last report. The first one with counts is where they begin. */
  #count(deployment: string, { before, report }: { before: WorkReport | undefined; report: WorkReport }): void {
    if (before?.ended === undefined || report.ended === undefined) return;
    const known = this.#counts.get(deployment) ?? new Map<string, EndCounts>();
    for (const counts of report.ended) {
      const former = before.ended.find(({ revision }) => revision === counts.revision);
      known.set(counts.revision, plus(known.get(counts.revision) ?? NO_RUNS, grown(counts, former)));
    }
    for (const name of known.keys()) if (known.size > MOST_LIVING) known.delete(name);
    this.#counts.set(deployment, known);
  }

  /** Returns the summary of the work of a deployment. Undefined while nothing was reported lately. */
  summary(deployment: string, now: number): WorkSummary | undefined {
    const reports = this.#living(deployment, now).map(({ report, at }): KeptReport => ({ ...report, age_seconds: (now - at) / 1000 }));
    return workOf(reports);
  }

  /** Returns the facts of the servers of a deployment that were reported lately, by the name of their revision. */
  servers(deployment: string, now: number): Map<string, ServerFacts> {
    return factsByRevision(this.#living(deployment, now).flatMap(({ report }) => report.server ?? []));
  }

  /** Forgets the reports of a deployment that are too old, and returns the others, the oldest first. */
  #living(deployment: string, now: number): Known[] {
    const processes = this.#known.get(deployment);
    if (processes === undefined) return [];
    for (const [from, { at }] of processes) if (now - at > REPORT_LIFE * 1000) processes.delete(from);
    if (processes.size === 0) this.#known.delete(deployment);
    return [...processes.values()];
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
function factsByRevision(reports: readonly ServerFacts[]): Map<string, ServerFacts> {
  const found = new Map<string, ServerFacts>();
  for (const facts of reports) {
    const known = found.get(facts.revision);
    if (stricterGuard(known?.guard, facts.guard) === facts.guard) found.set(facts.revision, facts);
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
  hear(changed: Iterable<string>): void {
    for (const deployment of new Set([...changed, ...this.#known])) {
      const lag = this.#lagOf(deployment);
      const wasKnown = this.#known.delete(deployment);
      if (lag !== undefined) this.#known.add(deployment);
      if (lag !== undefined || wasKnown) this.#lagged(deployment, lag);
    }
  }
}
