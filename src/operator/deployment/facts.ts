import { keyOf } from '../../kube/cache.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { activeOf } from '../family/revisions.ts';
import { gatewayEndpoints } from '../scale/gateways.ts';
import { completeRevision } from './decide.ts';
import { missingRevision } from './history.ts';
import { branchSource } from './look-at-branch.ts';
import { observeDeployment } from './observe.ts';
import { obstacle } from './obstacle.ts';
import type { Facts } from './part.ts';
import { tracingState } from './parts/tracing-project.ts';
import { keptPorts } from './ports.ts';
import { decideSleep } from './sleep.ts';

export type FactsDeps = Pick<OperatorDeps, 'caches' | 'table' | 'settings' | 'ports' | 'work' | 'branches'>;

/** Observes all that a reconcile of a deployment knows. Its ports are kept here, because nobody else may have them. */
export async function factsOf(
  deps: FactsDeps,
  deployment: DeploymentResource,
  { signal, now }: { signal: AbortSignal; now: Date },
): Promise<Facts> {
  const { caches, settings, work } = deps;
  const world = observeDeployment(deps, deployment);
  const ports = await keptPorts(deps, deployment, { service: world.service, signal });
  const active = activeOf(world.revisions, deployment.status?.activeRevision)?.metadata.name;
  const key = keyOf(deployment.metadata);
  const hasGateway = gatewayEndpoints(world.gateways).length > 0;
  const seen = { ...world, active, figures: work.figures(key), hasGateway, port: ports.gateway, settings, now };
  const sleep = decideSleep(deployment, seen);
  return {
    ...world,
    deployment,
    settings,
    now,
    held: obstacle(deps, deployment, world),
    active,
    target: completeRevision(deployment, world, settings) ?? active,
    missing: missingRevision(deployment, world.revisions),
    ports,
    sleep,
    isAsleep: sleep.sleep.asleepSince !== undefined,
    tracing: tracingState(deployment, caches, settings),
    branch: branchSource(deps, deployment)?.branch,
    look: deps.branches.look(deployment.metadata.uid ?? ''),
    queue: work.queue(key),
  };
}
