import type { KubeObject } from '../../kube/kube.ts';

/**
 * Returns when an object last changed: at its creation, at the last write of any field, or when a condition last
 * flipped.
 */
export function getUpdatedAt({ metadata, status }: KubeObject): string {
  const { conditions = [] } = (status ?? {}) as { conditions?: { lastTransitionTime: string }[] };
  const times = [
    metadata.creationTimestamp,
    ...(metadata.managedFields ?? []).map((entry) => entry.time),
    ...conditions.map((entry) => entry.lastTransitionTime),
  ].filter((time) => time !== undefined);
  return times.toSorted().at(-1) ?? '';
}
