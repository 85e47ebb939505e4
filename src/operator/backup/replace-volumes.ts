import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { FormerVolume } from '../../schema/platform/backup/replacement.ts';
import type { ReplacePlan } from './replace-plan.ts';

/** The longest time of a timer in seconds. */
const LONGEST = 86_400;

/** Returns the claims that a restore uses, or is about to use. */
export const listNeededVolumes = (
  { status }: DeploymentResource,
  plan: ReplacePlan | undefined,
): (string | undefined)[] => [
  status?.databaseVolume,
  status?.replacement?.volume,
  status?.replacement?.former,
  plan?.state === 'volume' ? plan.claim : undefined,
];

/** Returns the seconds until the first of them is deleted. */
export const countVolumeExpirySeconds = (
  former: readonly FormerVolume[],
  now: Date,
): number | undefined =>
  former.length === 0
    ? undefined
    : Math.max(
        1,
        Math.min(
          LONGEST,
          ...former.map(({ until }) => Math.ceil((Date.parse(until) - now.getTime()) / 1000)),
        ),
      );
