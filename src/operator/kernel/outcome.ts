import type { Condition } from '../../schema/platform/objects/conditions.ts';

/**
 * The reason for waiting while all goes well. The phase says how far it is, and an event reports the end or a failure.
 */
export const UNDER_WAY = 'RollingOut';

/**
 * The outcome of a reconcile. Settled: everything is as asked. Waiting: something else has to happen first. Stalled:
 * only a change by the user helps, so nothing is tried again. `after` is set if time alone makes a difference: the
 * reconcile runs again after so many seconds. Without it, a change wakes the key.
 */
export type ReconcileOutcome = {
  kind: 'settled' | 'waiting' | 'stalled';
  reason: string;
  message: string;
  after?: number;
};

export const buildSettledOutcome = (message: string, reason = 'Settled'): ReconcileOutcome => ({
  kind: 'settled',
  reason,
  message,
});

export const buildWaitingOutcome = (
  reason: string,
  message: string,
  after?: number,
): ReconcileOutcome => ({
  kind: 'waiting',
  reason,
  message,
  ...(after !== undefined && { after }),
});

/** Returns the same outcome with another reconcile after so many seconds at the latest. */
export const limitDelay = (
  outcome: ReconcileOutcome,
  seconds: number | undefined,
): ReconcileOutcome =>
  seconds === undefined
    ? outcome
    : { ...outcome, after: Math.min(outcome.after ?? seconds, seconds) };

export const buildStalledOutcome = (reason: string, message: string): ReconcileOutcome => ({
  kind: 'stalled',
  reason,
  message,
});

/** A condition as a reconciler states it. The kernel adds times and generations. */
export type StatedCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'> & {
  /** If set, an event reports it as well, once for each reason, because Ready does not. */
  event?: 'Normal' | 'Warning';
};

/**
 * The result of a reconcile: the whole status except its conditions, and the conditions besides Ready, Reconciling and
 * Stalled.
 */
export type Report<Status extends object> = {
  outcome: ReconcileOutcome;
  status: Omit<Status, 'conditions' | 'observedGeneration'>;
  statements: StatedCondition[];
};

export type Next = { do: 'forget' } | { do: 'retry' } | { do: 'later'; seconds: number };

export function decideNext(outcome: ReconcileOutcome | 'failed'): Next {
  if (outcome === 'failed') return { do: 'retry' };
  if (outcome.after !== undefined) return { do: 'later', seconds: outcome.after };
  return { do: 'forget' };
}
