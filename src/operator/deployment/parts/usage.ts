import { dropUndefined } from '../../../schema/json.ts';
import { formatDay, updateUsage } from '../../../schema/platform/deployment/usage-status.ts';
import { toUsageDays } from '../../../schema/wire/usage-days.ts';
import type { Part } from '../part.ts';

const DAY_SECONDS = 86_400;
/** Seconds after midnight in which the statuses of all deployments get their new day. */
const SPREAD_SECONDS = 600;

/**
 * The usage of models, as its agents report it. While they report nothing, as when the deployment sleeps, the last sums
 * stay, and those of today become those of yesterday at midnight.
 */
export const usage: Part = {
  report: ({ deployment, usage: reported, now }) => {
    const fields = updateUsage(deployment.status ?? {}, toUsageDays(reported), formatDay(now));
    return {
      status: dropUndefined(fields),
      ...(fields.usageToday && { again: [countSecondsToNextDay(now, deployment.metadata.uid)] }),
    };
  },
};

/** Returns the seconds until some moment after midnight, which differs among deployments. */
function countSecondsToNextDay(now: Date, uid = '0'): number {
  const spread = Number.parseInt(uid.slice(0, 8), 16) % SPREAD_SECONDS;
  return DAY_SECONDS - (Math.floor(now.getTime() / 1000) % DAY_SECONDS) + spread;
}
