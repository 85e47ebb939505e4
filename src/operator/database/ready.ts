import { DATABASE_READY } from '../../schema/platform/objects/conditions.ts';
import type { PartReport } from '../reports/part-report.ts';
import { buildWaitingOutcome, type StatedCondition } from '../kernel/outcome.ts';

/** Returns the condition that agents can connect. */
export const buildReadyCondition = (message: string, reason = 'Ready'): StatedCondition => ({
  type: DATABASE_READY,
  status: 'True',
  reason,
  message,
});

/** Returns the condition that agents can't connect, and why. */
export const buildNotReadyCondition = (
  message: string,
  reason = 'DatabaseNotReady',
): StatedCondition => ({
  type: DATABASE_READY,
  status: 'False',
  reason,
  message,
});

/**
 * Reports whether agents can connect. While they can't, the deployment waits, and looks again after so many seconds if
 * nothing wakes it when the reason goes away.
 */
export const buildReadinessReport = (
  stated: StatedCondition,
  poll?: number,
): PartReport & { statements: StatedCondition[] } => ({
  statements: [stated],
  ...(stated.status !== 'True' && {
    unready: buildWaitingOutcome(stated.reason, stated.message, poll),
  }),
});
