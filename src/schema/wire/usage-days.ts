import { formatNanoUsd, type UsageDayStatus } from '../platform/deployment/usage-status.ts';
import type { ReportedUsage } from './reported-usage.ts';

/** Returns the days of a report in the form of a status. */
export const toUsageDays = (reported: ReportedUsage | undefined): UsageDayStatus[] | undefined =>
  reported?.map((one) => ({
    day: one.day,
    calls: one.calls,
    unreportedCalls: one.unreported,
    unpricedCalls: one.unpriced,
    inputTokens: one.input,
    cacheReadTokens: one.cache_read,
    outputTokens: one.output,
    ...(one.cost_nano !== null && { costUsd: formatNanoUsd(one.cost_nano) }),
  }));
