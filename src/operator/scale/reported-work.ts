import { figuresOf, type WorkFigures } from '../../schema/work-figures.ts';
import { MOST_PROCESSES, REPORT_LIFE, type KeptReport, type ReportsPage, type WorkReport } from '../../schema/work-report.ts';

type Known = { report: WorkReport; at: number };

/** What the operator knows of the reports that gateways have kept. Times are milliseconds of any clock. */
export class ReportedWork {
  readonly #known = new Map<string, Map<string, Known>>();

  /**
   * Adds a page. Returns the deployments of which it told something. Of too many processes of one deployment, those
   * that were told of first are forgotten.
   */
  add({ reports }: Pick<ReportsPage, 'reports'>, now: number): string[] {
    for (const [deployment, some] of Object.entries(reports)) {
      const processes = this.#known.get(deployment) ?? new Map<string, Known>();
      for (const { age_seconds: age, ...report } of some) {
        const at = now - age * 1000;
        if ((processes.get(report.from)?.at ?? -Infinity) >= at) continue;
        processes.delete(report.from);
        processes.set(report.from, { report, at });
      }
      for (const from of processes.keys()) {
        if (processes.size <= MOST_PROCESSES) break;
        processes.delete(from);
      }
      this.#known.set(deployment, processes);
    }
    return Object.keys(reports);
  }

  /** Returns the figures of a deployment. Undefined while nothing was reported lately. */
  figures(deployment: string, now: number): WorkFigures | undefined {
    const processes = this.#known.get(deployment);
    if (processes === undefined) return undefined;
    for (const [from, { at }] of processes) if (now - at > REPORT_LIFE * 1000) processes.delete(from);
    if (processes.size === 0) this.#known.delete(deployment);
    const reports = [...processes.values()].map(({ report, at }): KeptReport => ({ ...report, age_seconds: (now - at) / 1000 }));
    return figuresOf(reports);
  }
}
