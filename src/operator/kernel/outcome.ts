import type { Condition } from '../../schema/conditions.ts';

/** Why it waits when all goes as it should. The phase tells how far it is; an event tells of the end, or of what goes wrong. */
export const UNDER_WAY = 'RollingOut';

/**
 * What a reconcile came to. Settled: as asked. Waiting: something else has to happen first. Stalled: only a change by the user helps, so
 * nothing is tried again. After `after` seconds time alone makes a difference, and it looks again; without it a change wakes the key.
 */
export type Outcome = { kind: 'settled' | 'waiting' | 'stalled'; reason: string; message: string; after?: number };

export const settled = (message: string, reason = 'Settled'): Outcome => ({ kind: 'settled', reason, message });

export const waiting = (reason: string, message: string, after?: number): Outcome => ({
  kind: 'waiting',
  reason,
  message,
  ...(after !== undefined && { after }),
});

/** The same outcome, looked at again after so many seconds at the latest. */
export const noLaterThan = (outcome: Outcome, seconds: number | undefined): Outcome =>
  seconds === undefined ? outcome : { ...outcome, after: Math.min(outcome.after ?? seconds, seconds) };

export const stalled = (reason: string, message: string): Outcome => ({ kind: 'stalled', reason, message });

/** A condition as a reconciler states it; times and generations are the kernel's. */
export type Statement = Pick<Condition, 'type' | 'status' | 'reason' | 'message'> & {
  /** An event tells of it as well, once for each reason: what Ready does not tell. */
  event?: 'Normal' | 'Warning';
};

/** What a reconcile hands back: the whole status but its conditions, and the conditions beside Ready, Reconciling and Stalled. */
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
