import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { stalled, waiting, type ReconcileOutcome } from '../kernel/outcome.ts';
import type { DeploymentWorld } from './observe.ts';
import { tracingState } from './tracing-project.ts';

type Pass = { world: Pick<DeploymentWorld, 'foreign'>; signal: AbortSignal };

/** Makes the tracing project of a deployment. Returns what prevents everything else, if anything does. */
export async function obstacle(
  deps: Pick<OperatorDeps, 'caches' | 'settings' | 'writer'>,
  deployment: DeploymentResource,
  { world, signal }: Pass,
): Promise<ReconcileOutcome | undefined> {
  if (world.foreign.length > 0)
    return waiting('EarlierDeployment', 'Waiting until the revisions of an earlier deployment of this name are gone.', 5);
  const tracing = tracingState(deployment, deps.caches, deps.settings);
  if (tracing.state === 'taken') return stalled('TracingProjectTaken', 'Another deployment of this tenant has this name.');
  if (tracing.state === 'missing') await deps.writer.create(tracing.project, signal);
  return undefined;
}
