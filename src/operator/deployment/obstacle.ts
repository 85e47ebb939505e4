import { TRACING_PROJECT_SHARED } from '../../schema/conditions.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { holderOfId } from '../../schema/deployment-ids.ts';
import { BY_ID } from '../family/caches.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { stalled, waiting, type ReconcileOutcome, type StatedCondition } from '../kernel/outcome.ts';
import type { DeploymentWorld } from './observe.ts';
import { tenantIn, tracingState } from './tracing-project.ts';

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

type Pass = { isHeld: boolean; signal: AbortSignal };

/** Makes the tracing project of a deployment. Returns a condition if another deployment has one of this name. */
export async function keepTracingProject(
  deps: Pick<OperatorDeps, 'caches' | 'settings' | 'writer'>,
  deployment: DeploymentResource,
  { isHeld, signal }: Pass,
): Promise<StatedCondition[]> {
  const tracing = tracingState(deployment, deps.caches, deps.settings);
  if (tracing.state === 'missing' && !isHeld) await deps.writer.create(tracing.project, signal);
  if (tracing.state !== 'shared') return [];
  const message = 'An older deployment of this tenant has this name: they share its tracing project.';
  return [{ type: TRACING_PROJECT_SHARED, status: 'True', reason: 'NameTaken', message }];
}
