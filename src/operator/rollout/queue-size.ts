import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { getReplicas } from '../pods/workload-state.ts';
import type { QueueBounds, QueueState } from '../scale/queue-scale.ts';
import { resolveMaxReplicas, resolveWantedReplicas, type Templated } from './replicas.ts';

export const queueBounds = (of: Templated, settings: OperatorSettings): QueueBounds => ({
  least: resolveWantedReplicas(of, 'queue', settings),
  most: resolveMaxReplicas(of, 'queue', settings),
});

/** Returns true if the number of a revision's queue pods follows its work or an outsider. */
export function isQueueScaled(
  of: Templated,
  deployment: DeploymentResource | undefined,
  settings: OperatorSettings,
): boolean {
  const { least, most } = queueBounds(of, settings);
  return (
    most > least && (settings.gateway !== undefined || deployment?.spec.queueReplicas !== undefined)
  );
}

/** Returns how many queue pods a revision may have beside the one that serves. Without one its work would never end. */
export const countMaxDrainingPods = (of: Templated, settings: OperatorSettings): number =>
  Math.max(1, resolveMaxReplicas(of, 'queue', settings));

type Queue = {
  deployment: DeploymentResource | undefined;
  api: KubeObject | undefined;
  queue: KubeObject | undefined;
  state: QueueState | undefined;
};

/**
 * Returns how many queue pods the serving revision is to have. As long as nothing was decided, those that are there
 * stay.
 */
export function queueWanted(
  revision: RevisionResource,
  { deployment, api, queue, state }: Queue,
  settings: OperatorSettings,
): number {
  const { least, most } = queueBounds(revision, settings);
  if (!isQueueScaled(revision, deployment, settings)) return least;
  const isWaking =
    api !== undefined && getReplicas(api) === 0 && deployment?.spec.queueReplicas === undefined;
  // The caller that woke it may want a run, so a queue pod starts beside the api pod.
  if (isWaking) return Math.min(most, Math.max(1, least));
  const asked =
    deployment?.spec.queueReplicas ??
    state?.desired ??
    (queue === undefined ? least : getReplicas(queue));
  return Math.max(least, Math.min(most, asked));
}

/** Returns how many queue pods a rollout begins with. One shows whether they start at all. */
export const countFirstQueuePods = (
  revision: RevisionResource,
  deployment: DeploymentResource | undefined,
  settings: OperatorSettings,
): number =>
  Math.max(
    resolveWantedReplicas(revision, 'queue', settings),
    isQueueScaled(revision, deployment, settings) ? 1 : 0,
  );
