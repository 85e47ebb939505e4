import { REPORT_LIFE, type KeptReport, type PinnedWork } from './work-report.ts';

/** Runs that a worker takes where none is reported: the agent server's default. */
export const USUAL_SLOTS = 10;

/** How the work of a deployment stands, by the reports of its processes. */
export type WorkSummary = {
  /** Threads with a run that only wants a worker. */
  due: number;
  running: number;
  webhooks: number;
  /** The part of it that is pinned to other revisions than the one that serves. Undefined: it was not counted. */
  pinned?: PinnedWork[] | undefined;
  nextDue: string | undefined;
  /** Threads that wait for somebody to answer. Undefined: they were not counted. */
  interrupted?: number | undefined;
  /** Seconds since a segment of the database's log last came to its store. Undefined: it goes to none. */
  archiveLag?: number | undefined;
  /** Runs that one worker takes. Undefined: none has reported it. */
  slots: number | undefined;
  /** Seconds since anybody asked for something. Undefined: no process that answers requests has reported. */
  idleSeconds: number | undefined;
  /** Seconds since the queue was looked at. */
  age: number;
};

/**
 * Returns the work of a deployment, by reports that one or several gateways have kept. Undefined while no process has
 * reported its queue. Of a process that several know, the newest report counts.
 */
export function workOf(reports: readonly KeptReport[]): WorkSummary | undefined {
  const newest = new Map<string, KeptReport>();
  for (const report of reports) {
    const known = newest.get(report.from);
    if (report.age_seconds <= REPORT_LIFE && (known === undefined || known.age_seconds > report.age_seconds))
      newest.set(report.from, report);
  }
  const all = [...newest.values()];
  const [last] = all.filter(({ queue }) => queue !== undefined).toSorted((a, b) => a.age_seconds - b.age_seconds);
  if (last?.queue === undefined) return undefined;
  const { due, running, webhooks, next_due: next, interrupted, archive_lag: archiveLag, pinned } = last.queue;
  const here = all.filter(({ leaves }) => leaves !== true);
  const slots = here.map((report) => report.slots).filter((count) => count > 0);
  const idle = here.filter(({ queue }) => queue !== undefined).map(({ idle_seconds: seconds }) => seconds);
  return {
    due,
    running,
    webhooks,
    ...given({ pinned, interrupted, archiveLag }),
    nextDue: next ?? undefined,
    slots: slots.length === 0 ? undefined : Math.min(...slots),
    idleSeconds: idle.length === 0 ? undefined : Math.min(...idle),
    age: last.age_seconds,
  };
}

type Counted = Pick<WorkSummary, 'pinned' | 'interrupted' | 'archiveLag'>;
const given = (counted: Counted): Counted => Object.fromEntries(Object.entries(counted).filter(([, value]) => value !== undefined));

/** Returns the same work without that of other revisions than the one that serves. */
export function workOfServing<S extends Pick<WorkSummary, 'due' | 'running' | 'pinned'>>(summary: S): S {
  const sum = (of: 'due' | 'running'): number => (summary.pinned ?? []).reduce((total, work) => total + work[of], 0);
  return { ...summary, due: Math.max(0, summary.due - sum('due')), running: Math.max(0, summary.running - sum('running')) };
}

/** Returns how many workers the work asks for, if each takes so many runs. */
export const workersAsked = ({ due, running }: Pick<WorkSummary, 'due' | 'running'>, slots: number): number =>
  Math.ceil((due + running) / Math.max(1, slots));
