import type { OperatorSettings } from '../../config/operator.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { names } from '../../schema/names.ts';
import { replicasOf } from '../pods/workload-state.ts';
import type { Scalable } from '../scale/work-follower.ts';
import type { Caches } from './caches.ts';
import { isQueueScaled, queueBounds } from './queue-size.ts';

/** Returns true unless an outsider scales it, or it is to have no pods or to be left alone. */
const mayScale = ({ spec, status }: DeploymentResource): boolean =>
  spec.queueReplicas === undefined && spec.suspend !== true && spec.hibernate !== true && status?.asleepSince === undefined;

/**
 * Returns how the queue of a deployment (`namespace/name`) may be scaled by its work. Undefined if it has a fixed size,
 * or somebody else scales it, or nothing of it runs.
 */
export function scalableIn(caches: Caches, settings: OperatorSettings): (deployment: string) => Scalable | undefined {
  return (key) => {
    const deployment = caches.deployments.get(key);
    const active = deployment?.status?.activeRevision;
    if (deployment === undefined || active === undefined || !mayScale(deployment)) return undefined;
    const { namespace } = deployment.metadata;
    const revision = caches.revisions.get(`${namespace}/${active}`);
    if (revision === undefined || !isQueueScaled(revision, deployment, settings)) return undefined;
    const queue = caches.workloads.get(`${namespace}/${names.queueWorkload(active)}`);
    return { bounds: queueBounds(revision, settings), live: queue === undefined ? 0 : replicasOf(queue) };
  };
}
