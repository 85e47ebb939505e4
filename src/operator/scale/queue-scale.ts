import {
  USUAL_SLOTS,
  computeNeededWorkers,
  type WorkSummary,
} from '../../schema/wire/work-summary.ts';

/** Between how many queue pods a deployment may have. */
export type QueueBounds = { least: number; most: number };

/** Why there are as many queue pods as there are. */
export type QueueReason = 'AtRest' | 'Backlog' | 'Quiet' | 'NotReported' | 'AskedByOthers';

/** How many workers the work asked for, from a time on, in milliseconds since the epoch. */
type Demand = { at: number; workers: number };

/** How many queue pods there are to be, why, and the data for the next decision. */
export type QueueState = {
  desired: number;
  reason: QueueReason;
  message: string;
  asked: readonly Demand[];
  changedAt: number;
};

export type QueueSituation = {
  /** Undefined: nothing was reported lately. */
  summary: WorkSummary | undefined;
  bounds: QueueBounds;
  /** The replicas of the workload as it is. */
  live: number;
  /** Milliseconds since the epoch. */
  now: number;
  /** Seconds for which fewer must have been enough. */
  downSeconds: number;
};

/** Seconds before something is due, in which a worker gets ready for it. */
const AHEAD = 30;
/** The part of the time before a step down that says how far down it goes. */
const RECENT = 0.2;

const limitWorkers = (workers: number, { least, most }: QueueBounds): number =>
  Math.max(least, Math.min(most, workers));

/**
 * Decides how many queue pods there are to be. It goes up at once, at least to twice as many, so that a wave that rises
 * takes few steps. It goes down in one step, when fewer were enough for the whole time, to the number that the last
 * part of it asked for. Never are there fewer than the runs under way ask for.
 */
export function decideQueue(before: QueueState | undefined, situation: QueueSituation): QueueState {
  const { summary, bounds, live, now, downSeconds } = situation;
  const started = before ?? buildInitialState(limitWorkers(live, bounds), now);
  const held = { ...started, desired: limitWorkers(started.desired, bounds) };
  if (summary === undefined)
    return {
      ...held,
      reason: 'NotReported',
      message: 'The agents have not reported their work lately.',
    };
  const workers = limitWorkers(countNeededWorkers(summary, now), bounds);
  const asked = recordDemand(held.asked, { at: now, workers }, now - downSeconds * 1000);
  const next = { ...held, asked, ...(held.reason === 'NotReported' && describeRest(held.desired)) };
  if (workers > held.desired) {
    const desired = limitWorkers(Math.max(workers, held.desired * 2), bounds);
    return {
      ...next,
      desired,
      changedAt: now,
      reason: 'Backlog',
      message: describeDemand(desired, summary),
    };
  }
  const most = Math.max(...asked.map((one) => one.workers));
  const isLong = now - held.changedAt >= downSeconds * 1000;
  if (most >= held.desired || !isLong) return next;
  const desired = findPeakSince(asked, now - downSeconds * 1000 * RECENT);
  return {
    ...next,
    desired,
    changedAt: now,
    reason: 'Quiet',
    message: `${describeDemand(desired, summary)} Fewer were enough for ${downSeconds} s.`,
  };
}

/** Pods that exist at the first decision count as asked for now, so that none is removed too soon. */
const buildInitialState = (live: number, now: number): QueueState => ({
  desired: live,
  ...describeRest(live),
  asked: [{ at: now, workers: live }],
  changedAt: now,
});

const describeRest = (desired: number): { reason: QueueReason; message: string } => ({
  reason: 'AtRest',
  message: `${desired} queue pods are enough.`,
});

const describeDemand = (
  desired: number,
  { due, running, slots = USUAL_SLOTS }: WorkSummary,
): string =>
  `${desired} queue pods are asked for: ${due} runs were due and ${running} under way, of which each pod takes ${slots}.`;

/** Returns how many workers the work asks for: at least one for a webhook, or for a run that is due in a moment. */
function countNeededWorkers(summary: WorkSummary, now: number): number {
  const { webhooks, nextDue, slots = USUAL_SLOTS } = summary;
  const isNext = nextDue !== undefined && Date.parse(nextDue) - now < AHEAD * 1000;
  return Math.max(computeNeededWorkers(summary, slots), webhooks > 0 || isNext ? 1 : 0);
}

/** Adds the number asked for now, and forgets those that ended before a time. Each lasts until the next. */
function recordDemand(asked: readonly Demand[], next: Demand, since: number): readonly Demand[] {
  const all = asked.at(-1)?.workers === next.workers ? asked : [...asked, next];
  return all.filter((_, at) => (all[at + 1]?.at ?? Infinity) > since);
}

const findPeakSince = (asked: readonly Demand[], since: number): number =>
  Math.max(
    ...asked
      .filter((_, at) => (asked[at + 1]?.at ?? Infinity) > since)
      .map(({ workers }) => workers),
  );

export type Scalable = { bounds: QueueBounds; live: number };
