import type { Condition } from '../../schema/conditions.ts';

/**
 * The reason of waiting when all goes as it should. The phase says how far it is; an event reports the end, or what
 * goes wrong.
 */
export const UNDER_WAY = 'RollingOut';

/**
 * What a reconcile came to. Settled: as asked. Waiting: something else has to happen first. Stalled: only a change by
 * the user helps, so nothing is tried again. After `after` seconds time alone makes a difference, and it looks again;
 * without it a change wakes the key.
 */
export type Outcome = { kind: 'settled' | 'waiting' | 'stalled'; reason: string; message: string; after?: number };

export const settled = (message: string, reason = 'Settled'): Outcome => ({ kind: 'settled', reason, message });

export const waiting = (reason: string, message: string, after?: number): Outcome => ({
  kind: 'waiting',
  reason,
  message,
  ...(after !== undefined && { after }),
});

/** Returns the same outcome, looked at again after so many seconds at the latest. */
export const noLaterThan = (outcome: Outcome, seconds: number | undefined): Outcome =>
  seconds === undefined ? outcome : { ...outcome, after: Math.min(outcome.after ?? seconds, seconds) };

export const stalled = (reason: string, message: string): Outcome => ({ kind: 'stalled', reason, message });

/** A condition as a reconciler states it; the kernel adds times and generations. */
export type Statement = Pick<Condition, 'type' | 'status' | 'reason' | 'message'> & {
  /** An event reports it as well, once for each reason, because Ready does not. */
  event?: 'Normal' | 'Warning';
};

/**
 * What a reconcile returns: the whole status but its conditions, and the conditions beside Ready, Reconciling and
 * Stalled.
 */
export type Report<Status extends object> = {
  outcome: Outcome;
  status: Omit<Status, 'conditions' | 'observedGeneration'>;
  statements: Statement[];
};

/** What the queue does next. */
export type Next = { do: 'forget' } | { do: 'retry' } | { do: 'later'; seconds: number };

export function nextOf(outcome: Outcome | 'failed'): Next {
  if (outcome === 'failed') return { do: 'retry' };
  if (outcome.after !== undefined) return { do: 'later', seconds: outcome.after };
  return { do: 'forget' };
}
