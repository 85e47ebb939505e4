import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';

export type WorkloadComponent = 'api' | 'queue';

/** A revision, or the deployment whose template it copies. */
export type Templated = {
  spec: Pick<RevisionResource['spec'], 'template'> &
    Partial<Pick<RevisionResource['spec'], 'source' | 'sourceConfig'>>;
};

/** Returns the sizes that a spec names. Deployments from git name none: theirs follow from their type. */
function resolveSizes(
  { spec }: Templated,
  { profile, gateway }: OperatorSettings,
): NonNullable<RevisionResource['spec']['template']['resourceSpec']> {
  const type = spec.source === 'git' ? spec.sourceConfig?.deploymentType : undefined;
  if (spec.template.resourceSpec !== undefined || type === undefined)
    return spec.template.resourceSpec ?? {};
  if (type === 'prod') return { minScale: profile.prod.least, maxScale: profile.prod.most };
  // One that is free sleeps where a gateway can wake it.
  return { minScale: type === 'dev_free' && gateway !== undefined ? 0 : 1, maxScale: 1 };
}

/** Returns the value that is asked for, else the default up to the limit that is asked for. */
export const chooseWithinLimit = (
  asked: number | undefined,
  otherwise: number,
  limit = Infinity,
): number => asked ?? Math.min(otherwise, limit);

/** Returns the least replicas that the spec asks for; `queue_*` defaults to the api's. */
export function resolveMinReplicas(
  of: Templated,
  component: WorkloadComponent,
  settings: OperatorSettings,
): number {
  const { minScale, maxScale, queueMinScale, queueMaxScale } = resolveSizes(of, settings);
  const api = chooseWithinLimit(minScale, settings.profile.replicas, maxScale);
  return component === 'api' ? api : chooseWithinLimit(queueMinScale, api, queueMaxScale);
}

/**
 * Returns the replicas of a workload that runs. Where a gateway is installed, a least number of 0 api pods lets the
 * deployment sleep, and one pod answers while it is awake.
 */
export function resolveWantedReplicas(
  of: Templated,
  component: WorkloadComponent,
  settings: OperatorSettings,
): number {
  const least = resolveMinReplicas(of, component, settings);
  const isToAnswer =
    component === 'api' &&
    settings.gateway !== undefined &&
    resolveSizes(of, settings).maxScale !== 0;
  return isToAnswer ? Math.max(1, least) : least;
}

/**
 * Returns the most replicas to which others, such as an autoscaler, may scale it. Without a range it is the spec's own
 * size.
 */
export function resolveMaxReplicas(
  of: Templated,
  component: WorkloadComponent,
  settings: OperatorSettings,
): number {
  const least = resolveWantedReplicas(of, component, settings);
  // A deployment that may sleep needs a pod of each kind while it is awake.
  const usual = settings.gateway === undefined ? least : Math.max(1, least);
  const { maxScale = usual, queueMaxScale = maxScale } = resolveSizes(of, settings);
  return Math.max(least, component === 'api' ? maxScale : queueMaxScale);
}
