import { REPORT_LIFE, type KeptReport, type ReportsPage, type WorkReport } from '../schema/work-report.ts';

type Kept = { report: WorkReport; at: number; number: number };
type Arrival = { deployment: string; from: string; number: number; at: number };

/**
 * Keeps the last report of each process of each deployment for some time. Nothing of it is stored: whoever reports does
 * so again, so a gateway that is replaced knows all within half a minute.
 */
export class Reports {
  readonly #kept = new Map<string, Map<string, Kept>>();
  /** What arrived, in its order. Arrivals have consecutive numbers. */
  #arrivals: Arrival[] = [];
  #number = 0;
  readonly #instance: string;
  readonly #clock: () => number;

  /** `instance` is another one for each process, because each counts its reports from the start. */
  constructor(instance: string, clock: () => number = () => performance.now()) {
    this.#instance = instance;
    this.#clock = clock;
  }

  /** The deployments that have reported lately. */
  get size(): number {
    return this.#kept.size;
  }

  keep(deployment: string, report: WorkReport): void {
    const processes = this.#kept.get(deployment) ?? new Map<string, Kept>();
    const [at, number] = [this.#clock(), (this.#number += 1)];
    processes.set(report.from, { report, at, number });
    this.#kept.set(deployment, processes);
    this.#arrivals.push({ deployment, from: report.from, number, at });
    this.#forget(at - REPORT_LIFE * 1000);
  }

  /** Returns the reports of a deployment that still count. */
  of(deployment: string): KeptReport[] {
    const now = this.#clock();
    this.#forget(now - REPORT_LIFE * 1000);
    return [...(this.#kept.get(deployment)?.values() ?? [])].map(({ report, at }) => ({ ...report, age_seconds: (now - at) / 1000 }));
  }

  /** Returns the reports that have arrived since a page was read, without those that newer ones have replaced. */
  since({ cursor, instance }: Partial<Pick<ReportsPage, 'cursor' | 'instance'>>): ReportsPage {
    const now = this.#clock();
    this.#forget(now - REPORT_LIFE * 1000);
    const after = instance === this.#instance ? (cursor ?? 0) : 0;
    const first = this.#arrivals[0]?.number ?? this.#number + 1;
    const reports: ReportsPage['reports'] = {};
    for (const { deployment, from, number } of this.#arrivals.slice(Math.max(0, after + 1 - first))) {
      const kept = this.#kept.get(deployment)?.get(from);
      if (kept?.number === number) (reports[deployment] ??= []).push({ ...kept.report, age_seconds: (now - kept.at) / 1000 });
    }
    return { instance: this.#instance, cursor: this.#number, reports };
  }

  #forget(before: number): void {
    const past = this.#arrivals.findIndex(({ at }) => at >= before);
    const old = this.#arrivals.splice(0, past === -1 ? this.#arrivals.length : past);
    for (const { deployment, from, number } of old) {
      const processes = this.#kept.get(deployment);
      if (processes?.get(from)?.number !== number) continue;
      processes.delete(from);
      if (processes.size === 0) this.#kept.delete(deployment);
    }
  }
}
