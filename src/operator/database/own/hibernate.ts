import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { replicasOf } from '../../pods/workload-state.ts';
import type { DeploymentWorld } from '../../deployment/observe.ts';

type Pods = Pick<DeploymentWorld, 'workloads' | 'agentPods'>;

/** Pods the database is to have: none while the deployment hibernates, but only after the agents, which write until they end (pure). */
export const databaseReplicas = ({ spec }: Pick<DeploymentResource, 'spec'>, world: Pods): number =>
  spec.hibernate === true && areAgentsGone(world) ? 0 : 1;

const areAgentsGone = ({ workloads, agentPods }: Pods): boolean =>
  agentPods.length === 0 && workloads.every((workload) => replicasOf(workload) === 0);

/** No pod of the deployment is left (pure). */
export const isAsleep = (world: Pods & Pick<DeploymentWorld, 'database' | 'databasePods'>): boolean =>
  areAgentsGone(world) && world.databasePods.length === 0 && (world.database === undefined || replicasOf(world.database) === 0);
