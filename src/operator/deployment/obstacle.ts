import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { holderOfId } from '../../schema/deployment-ids.ts';
import { BY_ID } from '../family/caches.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { stalled, waiting, type ReconcileOutcome } from '../kernel/outcome.ts';
import type { DeploymentWorld } from './observe.ts';
import { tenantIn } from './parts/tracing-project.ts';

/** Returns the deployments of the same tenant that are known by the id that this one claims. */
function namesakes(deployment: DeploymentResource, { caches, settings }: Pick<OperatorDeps, 'caches' | 'settings'>): DeploymentResource[] {
  const claimed = deployment.spec.id?.toLowerCase();
  if (claimed === undefined) return [];
  const tenant = tenantIn(deployment, caches, settings);
  return caches.deployments.byIndex(BY_ID, claimed).filter((other) => tenantIn(other, caches, settings) === tenant);
}

/** Returns what prevents everything else, if anything does. */
export function obstacle(
  deps: Pick<OperatorDeps, 'caches' | 'settings'>,
  deployment: DeploymentResource,
  { foreign }: Pick<DeploymentWorld, 'foreign'>,
): ReconcileOutcome | undefined {
  if (foreign.length > 0)
    return waiting('EarlierDeployment', 'Waiting until the revisions of an earlier deployment of this name are gone.', 5);
  if (holderOfId(deployment, namesakes(deployment, deps)) === undefined) return undefined;
  return stalled('IdTaken', `spec.id: another deployment has the id ${deployment.spec.id}. Make this one again without it.`);
}
