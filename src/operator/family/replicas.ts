import type { OperatorSettings } from '../../config/operator.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';

export type WorkloadComponent = 'api' | 'queue';

/** A revision, or the deployment whose template it copies. */
export type Templated = { spec: Pick<RevisionResource['spec'], 'template'> };

/** Returns the value that is asked for, else the default up to the limit that is asked for. */
export const within = (asked: number | undefined, otherwise: number, limit = Infinity): number => asked ?? Math.min(otherwise, limit);

/** Returns the replicas that the spec asks for; `queue_*` defaults to the api's. */
export function replicasWanted({ spec }: Templated, component: WorkloadComponent, { profile }: Pick<OperatorSettings, 'profile'>): number {
  const { minScale, maxScale, queueMinScale, queueMaxScale } = spec.template.resourceSpec ?? {};
  const api = within(minScale, profile.replicas, maxScale);
  return component === 'api' ? api : within(queueMinScale, api, queueMaxScale);
}

/**
 * Returns the most replicas to which others, such as an autoscaler, may scale it. Without a range it is the spec's own
 * size.
 */
export function replicasAllowed(of: Templated, component: WorkloadComponent, settings: Pick<OperatorSettings, 'profile'>): number {
  const least = replicasWanted(of, component, settings);
  const { maxScale = least, queueMaxScale = maxScale } = of.spec.template.resourceSpec ?? {};
  return Math.max(least, component === 'api' ? maxScale : queueMaxScale);
}
