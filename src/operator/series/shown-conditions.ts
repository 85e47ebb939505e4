import {
  ASLEEP,
  DRAINING,
  FIELDS_WITHOUT_EFFECT,
  HIBERNATED,
  POD_SECURITY_OPEN,
  PROXY_NOT_ADMITTED,
  READY,
  RECONCILING,
  SCALED_TO_ZERO,
  SERVING,
  STALLED,
  SUSPENDED,
  TOKEN_MOUNTED,
  TRACING_PROJECT_SHARED,
  UNAUTHENTICATED,
  type Condition,
} from '../../schema/platform/conditions.ts';

/** Conditions that a metric always has, so that a deployment is known by it. */
const ALWAYS = [READY, SERVING];
/** Conditions that are neither good nor bad. */
const NEUTRAL = [RECONCILING, ASLEEP, DRAINING];
/** Conditions that warn while they are true. All others are bad unless they are true. */
const WARNINGS = [
  STALLED,
  SUSPENDED,
  FIELDS_WITHOUT_EFFECT,
  UNAUTHENTICATED,
  TOKEN_MOUNTED,
  POD_SECURITY_OPEN,
  TRACING_PROJECT_SHARED,
  PROXY_NOT_ADMITTED,
];
/** Reasons of conditions that are not true because the deployment has no pods and needs none. */
const RESTING = [HIBERNATED, 'Hibernating', SCALED_TO_ZERO, 'Asleep', 'FallingAsleep', 'Paused'];

/** Returns the conditions of a deployment that its metric shows: Ready, Serving, and those in a bad state. */
export const shownConditions = (conditions: readonly Condition[] = []): Condition[] =>
  conditions.filter(({ type, status, reason }) => {
    if (ALWAYS.includes(type)) return true;
    if (NEUTRAL.includes(type)) return false;
    if (WARNINGS.includes(type)) return status !== 'False';
    return status !== 'True' && !RESTING.includes(reason);
  });
