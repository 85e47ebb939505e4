import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { DrainingRevision } from '../../schema/platform/rollout/rollout-spec.ts';
import type { Pin } from '../../schema/platform/rollout/pins.ts';

/**
 * Returns how the runs of a revision that rolls out now are pinned to it. Without a gateway nobody could tell its
 * agents which revision takes the rest of its work.
 */
export function choosePin(
  deployment: DeploymentResource | undefined,
  { gateway, pin }: OperatorSettings,
): Pin {
  return gateway === undefined ? 'None' : (deployment?.spec.rollout?.pin ?? pin);
}

/** Returns the work that a replaced revision keeps; undefined if it keeps none. */
export const findDrainingRevision = (
  deployment: DeploymentResource | undefined,
  revision: string,
): DrainingRevision | undefined =>
  deployment?.status?.rollout?.draining.find((draining) => draining.revision === revision);
