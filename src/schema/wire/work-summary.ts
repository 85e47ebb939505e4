import { REPORT_LIFE, type PinnedWork, type QueueWork, type WorkReport } from './work-report.ts';
import type { ReportedUsage } from './reported-usage.ts';
import { dropUndefined } from '../json.ts';

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
  /** Threads that wait for a person to answer. Undefined: they were not counted. */
  interrupted?: number | undefined;
  /** The usage of models of the last two days. Undefined: it is not recorded. */
  usage?: ReportedUsage | undefined;
  /** Seconds since a segment of the database's log last came to its store. Undefined: it goes to none. */
  archiveLag?: number | undefined;
  /** Runs that one worker takes. Undefined: none has reported it. */
  slots: number | undefined;
  /** Seconds since anybody asked for something. Undefined: no process that answers requests has reported. */
  idleSeconds: number | undefined;
  /** Seconds since the queue was looked at. */
  age: number;
};

/** The last report of a process, and when it came, in milliseconds of any clock. */
export type HeardReport = { report: WorkReport; at: number };

/**
 * Returns the work of a deployment by the last report of each of its processes, of which those that are too old count
 * nothing. Undefined while no process has reported its queue.
 */
export function summarizeReports(
  heard: Iterable<HeardReport>,
  now: number,
): WorkSummary | undefined {
  let last: (HeardReport & { queue: QueueWork }) | undefined;
  let [slots, idle] = [Infinity, Infinity];
  for (const { report, at } of heard) {
    const { queue, leaves } = report;
    if (now - at > REPORT_LIFE * 1000) continue;
    if (queue !== undefined && (last === undefined || last.at <= at)) last = { report, at, queue };
    if (leaves === true) continue;
    if (report.slots > 0) slots = Math.min(slots, report.slots);
    if (queue !== undefined) idle = Math.min(idle, report.idle_seconds);
  }
  if (last === undefined) return undefined;
  const {
    due,
    running,
    webhooks,
    next_due: next,
    interrupted,
    archive_lag: archiveLag,
    pinned,
    usage,
  } = last.queue;
  return {
    due,
    running,
    webhooks,
    ...dropUndefined({ pinned, interrupted, archiveLag, usage }),
    nextDue: next ?? undefined,
    slots: slots === Infinity ? undefined : slots,
    idleSeconds: idle === Infinity ? undefined : idle,
    age: (now - last.at) / 1000,
  };
}

/** Returns the same work without that of other revisions than the one that serves. */
export function filterServingWork<S extends WorkSummary>(summary: S): S {
  const sum = (of: 'due' | 'running'): number =>
    (summary.pinned ?? []).reduce((total, work) => total + work[of], 0);
  return {
    ...summary,
    due: Math.max(0, summary.due - sum('due')),
    running: Math.max(0, summary.running - sum('running')),
  };
}

/** Returns how many workers the work asks for, if each takes so many runs. */
export const computeNeededWorkers = (
  { due, running }: { due: number; running: number },
  slots: number,
): number => Math.ceil((due + running) / Math.max(1, slots));
