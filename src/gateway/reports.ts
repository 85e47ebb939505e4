import {
  knownFields,
  MOST_PROCESSES,
  REPORT_LIFE,
  type KeptReport,
  type ReportsPage,
  type WorkReport,
} from '../schema/wire/work-report.ts';

type Kept = { deployment: string; report: WorkReport; at: number; number: number };

/** How many reports are kept, each some 700 bytes. */
export type ReportBounds = {
  /** How many reports of one deployment are kept. */
  each: number;
  /** Reports of all deployments, beyond which each that reports keeps `few` of its own. */
  crowd: number;
  few: number;
  /** Reports in a page, each some 350 bytes. */
  page: number;
};

/** Ten thousand deployments with four processes each are no crowd. A crowd takes some 40 MB. */
const BOUNDS: ReportBounds = { each: MOST_PROCESSES, crowd: 60_000, few: 20, page: 2000 };
/** Arrivals that newer ones have replaced are forgotten together, when there are more of them than of the others. */
const REPLACED = 1000;

/**
 * Keeps the last report of each process of each deployment for some time. Nothing is stored: each process reports
 * again, so a gateway that is replaced knows all within half a minute. A deployment that has too many processes
 * loses the report of the one that was silent for longest.
 */
export class Reports {
  /** By deployment and process, of each deployment the oldest report first. */
  readonly #kept = new Map<string, Map<string, Kept>>();
  /** The reports in the order of their arrival. */
  #arrivals: Kept[] = [];
  #number = 0;
  #count = 0;
  readonly #instance: string;
  readonly #clock: () => number;
  readonly #bounds: ReportBounds;

  /** `instance` is another one for each process, because each counts its reports from the start. */
  constructor(instance: string, clock: () => number = () => performance.now(), bounds: Partial<ReportBounds> = {}) {
    this.#instance = instance;
    this.#clock = clock;
    this.#bounds = { ...BOUNDS, ...bounds };
  }

  /** The deployments that have reported lately. */
  get size(): number {
    return this.#kept.size;
  }

  keep(deployment: string, report: WorkReport): void {
    const at = this.#clock();
    const kept = { deployment, report: knownFields(report), at, number: (this.#number += 1) };
    this.#drop(deployment, report.from);
    const processes = this.#kept.get(deployment) ?? new Map<string, Kept>();
    this.#kept.set(deployment, processes.set(report.from, kept));
    this.#count += 1;
    this.#arrivals.push(kept);
    const { each, crowd, few } = this.#bounds;
    const most = this.#count > crowd ? few : each;
    for (const from of processes.keys()) {
      if (processes.size <= most) break;
      this.#drop(deployment, from);
    }
    this.#forget(at - REPORT_LIFE * 1000);
  }

  /** Returns the reports of a deployment that still count. */
  of(deployment: string): KeptReport[] {
    const now = this.#clock();
    this.#forget(now - REPORT_LIFE * 1000);
    return [...(this.#kept.get(deployment)?.values() ?? [])].map(({ report, at }) => ({ ...report, age_seconds: (now - at) / 1000 }));
  }

  /**
   * Returns the reports that have arrived since a page was read, without those that newer ones have replaced. A page
   * that is full says so, and its cursor is where the next one begins.
   */
  since({ cursor, instance }: Partial<Pick<ReportsPage, 'cursor' | 'instance'>>): ReportsPage {
    const now = this.#clock();
    this.#forget(now - REPORT_LIFE * 1000);
    const after = instance === this.#instance ? (cursor ?? 0) : 0;
    const reports: ReportsPage['reports'] = {};
    let room = this.#bounds.page;
    let last = this.#number;
    for (let at = this.#firstAfter(after); at < this.#arrivals.length; at += 1) {
      const arrival = this.#arrivals[at]!;
      if (!this.#isCurrent(arrival)) continue;
      if (room === 0) {
        last = arrival.number - 1;
        break;
      }
      room -= 1;
      (reports[arrival.deployment] ??= []).push({ ...arrival.report, age_seconds: (now - arrival.at) / 1000 });
    }
    return { instance: this.#instance, cursor: last, more: last < this.#number, reports };
  }

  /** Returns the place of the first arrival with a greater number. */
  #firstAfter(number: number): number {
    let [from, to] = [0, this.#arrivals.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#arrivals[middle]!.number > number) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  #isCurrent(arrival: Kept): boolean {
    return this.#kept.get(arrival.deployment)?.get(arrival.report.from) === arrival;
  }

  #drop(deployment: string, from: string): void {
    const processes = this.#kept.get(deployment);
    if (processes?.delete(from) !== true) return;
    this.#count -= 1;
    if (processes.size === 0) this.#kept.delete(deployment);
  }

  #forget(before: number): void {
    const past = this.#arrivals.findIndex(({ at }) => at >= before);
    const old = this.#arrivals.splice(0, past === -1 ? this.#arrivals.length : past);
    for (const arrival of old) if (this.#isCurrent(arrival)) this.#drop(arrival.deployment, arrival.report.from);
    if (this.#arrivals.length > 2 * this.#count + REPLACED) this.#arrivals = this.#arrivals.filter((one) => this.#isCurrent(one));
  }
}
