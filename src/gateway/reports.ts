import { toFlatCounts } from '../schema/wire/run-counts.ts';
import {
  pickReportFields,
  REPORT_LIFE,
  type ReportsPage,
  type WorkReport,
} from '../schema/wire/work-report.ts';
import { summarizeReports, type WorkSummary } from '../schema/wire/work-summary.ts';
import { LastReports, type KeptEntry } from '../work/last-reports.ts';
import type { BytesBounds } from '../http/limits/kept-bytes.ts';

/** `counts`: those of its runs, as JSON, which take a fifth of the memory that they would as objects. */
type StoredReport = KeptEntry & { number: number; counts: string | undefined };

/** The place of a report among all. It holds nothing of the report, which a newer one may have replaced. */
type Arrival = { number: number; at: number; deployment: string; from: string };

export type ReportBounds = BytesBounds & {
  /** Characters of a page, beyond which the next report is in another one. */
  page: number;
};

const MEBIBYTE = 1024 * 1024;
/**
 * A usual report takes 1 kB, and the counts of a revision that is tried out another one. So 2,000 processes of one
 * deployment have room, and 10,000 deployments with four processes each. A page is read within some 20 ms.
 */
const BOUNDS: ReportBounds = { each: 8 * MEBIBYTE, all: 48 * MEBIBYTE, page: MEBIBYTE / 2 };
/** Arrivals that newer ones have replaced are forgotten together, when there are more of them than of the others. */
const REPLACED = 1000;

/**
 * Keeps the last report of each process of each deployment for some time. Nothing is stored: each process reports
 * again, so a gateway that is replaced knows all within half a minute. A deployment that has too many processes
 * loses the report of the one that was silent for longest.
 */
export class Reports {
  readonly #kept: LastReports<StoredReport>;
  #arrivals: Arrival[] = [];
  #number = 0;
  readonly #instance: string;
  readonly #clock: () => number;
  readonly #page: number;

  /** `instance` is another one for each process, because each counts its reports from the start. */
  constructor(
    instance: string,
    clock: () => number = () => performance.now(),
    bounds: Partial<ReportBounds> = {},
  ) {
    const { page, ...kept } = { ...BOUNDS, ...bounds };
    this.#instance = instance;
    this.#clock = clock;
    this.#page = page;
    this.#kept = new LastReports({ bounds: kept });
  }

  get size(): number {
    return this.#kept.size;
  }

  get bytes(): number {
    return this.#kept.bytes;
  }

  /** Keeps a report. The counts of its runs are kept only for revisions that are compared. */
  keep(
    deployment: string,
    given: WorkReport,
    compared?: { candidate: string; stable: string },
  ): void {
    const at = this.#clock();
    const { ended: all, ...report } = pickReportFields(given);
    const some = all?.filter(
      ({ revision }) => revision === compared?.candidate || revision === compared?.stable,
    );
    const counts =
      compared === undefined || some === undefined
        ? undefined
        : JSON.stringify(some.map(toFlatCounts));
    const { from } = report;
    const number = (this.#number += 1);
    this.#kept.keep(deployment, { from, report, at, extra: counts?.length ?? 0, counts, number });
    this.#arrivals.push({ number, at, deployment, from });
    this.#dropBefore(at - REPORT_LIFE * 1000);
  }

  summarizeWork(deployment: string): WorkSummary | undefined {
    const now = this.#clock();
    return summarizeReports(this.#kept.listLiveReports(deployment, now), now);
  }

  /**
   * Returns, as JSON, the reports that have arrived since a page was read, without those that newer ones have replaced.
   * A page that is full says so, and its cursor is where the next one begins.
   */
  formatSince({
    cursor,
    instance,
    key,
  }: {
    cursor?: number;
    instance?: string;
    /** That by which the gateway signs, for the answer. */
    key?: string;
  }): string {
    const now = this.#clock();
    this.#dropBefore(now - REPORT_LIFE * 1000);
    const after = instance === this.#instance ? (cursor ?? 0) : 0;
    const reports = new Map<string, string[]>();
    let room = this.#page;
    let last = this.#number;
    for (let at = this.#findFirstAfter(after); at < this.#arrivals.length; at += 1) {
      const arrival = this.#arrivals[at]!;
      const current = this.#findReport(arrival);
      if (current === undefined) continue;
      const text = formatReport(current, now);
      if (room < text.length && room < this.#page) {
        last = arrival.number - 1;
        break;
      }
      room -= text.length;
      const some = reports.get(arrival.deployment) ?? [];
      some.push(text);
      reports.set(arrival.deployment, some);
    }
    const head: Omit<ReportsPage, 'reports'> = {
      instance: this.#instance,
      cursor: last,
      more: last < this.#number,
    };
    const all = [...reports].map(([name, some]) => `${JSON.stringify(name)}:[${some.join(',')}]`);
    return `${JSON.stringify({ ...head, ...(key !== undefined && { key }) }).slice(0, -1)},"reports":{${all.join(',')}}}`;
  }

  #findFirstAfter(number: number): number {
    let [from, to] = [0, this.#arrivals.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#arrivals[middle]!.number > number) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /** Returns the report that arrived then, unless a newer one has replaced it. */
  #findReport({ deployment, from, number }: Arrival): StoredReport | undefined {
    const report = this.#kept.get(deployment, from);
    return report?.number === number ? report : undefined;
  }

  #dropBefore(before: number): void {
    const past = this.#arrivals.findIndex(({ at }) => at >= before);
    const old = this.#arrivals.splice(0, past === -1 ? this.#arrivals.length : past);
    for (const arrival of old)
      if (this.#findReport(arrival) !== undefined)
        this.#kept.drop(arrival.deployment, arrival.from);
    if (this.#arrivals.length > 2 * this.#kept.count + REPLACED)
      this.#arrivals = this.#arrivals.filter((one) => this.#findReport(one) !== undefined);
  }
}

function formatReport({ report, at, counts }: StoredReport, now: number): string {
  const text = JSON.stringify({ ...report, age_seconds: (now - at) / 1000 });
  return counts === undefined ? text : `${text.slice(0, -1)},"counts":${counts}}`;
}
