import type { DaySums } from '../../schema/platform/deployment/deployment-usage.ts';
import {
  formatDay,
  limitSum,
  parseUsd,
  updateUsage,
  type UsageDayStatus,
} from '../../schema/platform/deployment/usage-status.ts';
import { UNIT_PARTS } from '../../schema/agent/budget.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';

/** Returns the usage of a deployment on the day of a time, and on the day before. Null where it reports none. */
export function readDeploymentUsage(
  { status = {} }: DeploymentResource,
  now: Date,
): { today: DaySums | null; yesterday: DaySums | null } {
  // A deployment that sleeps has in its status the days on which it was awake.
  const { usageToday, usageYesterday } = updateUsage(status, undefined, formatDay(now));
  return { today: toDaySums(usageToday), yesterday: toDaySums(usageYesterday) };
}

const toDaySums = (one: UsageDayStatus | undefined): DaySums | null =>
  one === undefined
    ? null
    : {
        calls: one.calls,
        unreported_calls: one.unreportedCalls,
        unpriced_calls: one.unpricedCalls,
        input_tokens: one.inputTokens,
        cache_read_tokens: one.cacheReadTokens,
        output_tokens: one.outputTokens,
        cost_usd: one.costUsd === undefined ? null : parseUsd(one.costUsd) / UNIT_PARTS.usd,
      };

/** Returns the sums of both. Unknown is not zero: a price is null only where neither has one. */
export function addDaySums(one: DaySums | null, other: DaySums | null): DaySums | null {
  if (one === null || other === null) return one ?? other;
  return {
    calls: limitSum(one.calls + other.calls),
    unreported_calls: limitSum(one.unreported_calls + other.unreported_calls),
    unpriced_calls: limitSum(one.unpriced_calls + other.unpriced_calls),
    input_tokens: limitSum(one.input_tokens + other.input_tokens),
    cache_read_tokens: limitSum(one.cache_read_tokens + other.cache_read_tokens),
    output_tokens: limitSum(one.output_tokens + other.output_tokens),
    cost_usd: addKnown(one.cost_usd, other.cost_usd),
  };
}

const addKnown = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : one + other;
