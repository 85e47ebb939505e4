import type { PodPlace } from '../../config/placement.ts';

/** Returns the fields of a pod that say where it stands, for pods with these labels. */
export const placed = ({ topologySpreadConstraints: spread, ...place }: PodPlace, labels: Record<string, string>): object => ({
  ...place,
  ...(spread !== undefined && {
    topologySpreadConstraints: spread.map((constraint) => ({ labelSelector: { matchLabels: labels }, ...constraint })),
  }),
});
