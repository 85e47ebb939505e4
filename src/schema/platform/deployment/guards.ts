/**
 * The guards of an agent: nothing, keys, the handlers of its gx.json. Each is stricter than those before it. Only the
 * agents themselves can ask their handlers, so a deployment that has some never sleeps, and nobody wakes it.
 */
export const GUARDS = ['open', 'key', 'handlers'] as const;
export type ReportedGuard = (typeof GUARDS)[number];

/** Returns the stricter one of two guards. */
export function chooseStricterGuard(
  one: ReportedGuard | undefined,
  other: ReportedGuard | undefined,
): ReportedGuard | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return GUARDS.indexOf(one) < GUARDS.indexOf(other) ? other : one;
}
