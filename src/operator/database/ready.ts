import { DATABASE_READY } from '../../schema/conditions.ts';
import type { StatedCondition } from '../kernel/outcome.ts';

/** Returns the condition that agents can connect. */
export const ready = (message: string, reason = 'Ready'): StatedCondition => ({ type: DATABASE_READY, status: 'True', reason, message });

/** Returns the condition that agents can't connect, and why. */
export const notReady = (message: string, reason = 'DatabaseNotReady'): StatedCondition => ({
  type: DATABASE_READY,
  status: 'False',
  reason,
  message,
});
