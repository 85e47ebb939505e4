import type { OperatorSettings } from '../../config/operator.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';

export type WorkloadComponent = 'api' | 'queue';

/** A revision, or the deployment whose template it copies. */
export type Templated = { spec: Pick<RevisionResource['spec'], 'template'> };

/** Returns what is asked for, else the default as far as the limit that is asked for allows. */
export const within = (asked: number | undefined, otherwise: number, limit = Infinity): number => asked ?? Math.min(otherwise, limit);

/** Returns the replicas that the spec asks for; `queue_*` defaults to the api's. */
export function replicasWanted({ spec }: Templated, component: WorkloadComponent, { profile }: Pick<OperatorSettings, 'profile'>): number {
  const { minScale, maxScale, queueMinScale, queueMaxScale } = spec.template.resourceSpec ?? {};
  const api = within(minScale, profile.replicas, maxScale);
  return component === 'api' ? api : within(queueMinScale, api, queueMaxScale);
}

/**
 * Returns the replicas up to which others, an autoscaler or a person, may scale it: the size of the spec where it names
 * no range.
 */
export function replicasAllowed(of: Templated, component: WorkloadComponent, settings: Pick<OperatorSettings, 'profile'>): number {
  const least = replicasWanted(of, component, settings);
  const { maxScale = least, queueMaxScale = maxScale } = of.spec.template.resourceSpec ?? {};
  return Math.max(least, component === 'api' ? maxScale : queueMaxScale);
}
