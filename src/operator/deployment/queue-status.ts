import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { QUEUE_SCALED } from '../../schema/conditions.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { selectorOf } from '../../schema/labels.ts';
import { names } from '../../schema/names.ts';
import { isQueueScaled, queueWanted } from '../family/queue-size.ts';
import { isAsleep } from '../family/sleepers.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import { availableReplicas } from '../pods/workload-state.ts';
import type { QueueState } from '../scale/queue-scale.ts';

type StatusFields = Pick<NonNullable<DeploymentResource['status']>, 'queueReplicas' | 'queueReady' | 'queueSelector'>;
type Facts = {
  revisions: RevisionResource[];
  active: string | undefined;
  workloads: KubeObject[];
  state: QueueState | undefined;
  settings: OperatorSettings;
};

/** Returns what the status says of queue pods whose number follows something. Nothing of a fixed number. */
export function queueReport(deployment: DeploymentResource, facts: Facts): { status: StatusFields; statements: StatedCondition[] } {
  const { revisions, active, workloads, state, settings } = facts;
  const revision = revisions.find(({ metadata }) => metadata.name === active);
  if (revision === undefined || !isQueueScaled(revision, deployment, settings)) return { status: {}, statements: [] };
  const named = (name: string): KubeObject | undefined => workloads.find(({ metadata }) => metadata.name === name);
  const [api, queue] = [named(names.apiWorkload(revision.metadata.name)), named(names.queueWorkload(revision.metadata.name))];
  const wanted = isAsleep(deployment) ? 0 : queueWanted(revision, { deployment, api, queue, state }, settings);
  const ready = availableReplicas(queue);
  const selector = Object.entries(selectorOf(deployment.metadata.name, 'queue')).map(([name, value]) => `${name}=${value}`);
  return {
    status: { queueReplicas: wanted, queueReady: ready, queueSelector: selector.join(',') },
    statements: [statement(deployment, { wanted, ready, state })],
  };
}

type Numbers = { wanted: number; ready: number; state: QueueState | undefined };

function statement({ spec }: DeploymentResource, { wanted, ready, state }: Numbers): StatedCondition {
  const given: Pick<QueueState, 'reason' | 'message'> = state ?? {
    reason: 'NotReported',
    message: 'The agents have not reported their work yet.',
  };
  const why: Pick<QueueState, 'reason' | 'message'> =
    spec.queueReplicas === undefined
      ? given
      : { reason: 'AskedByOthers', message: `spec.queueReplicas asks for ${spec.queueReplicas} queue pods.` };
  const { reason, message } = why;
  const isNews = reason === 'Backlog' || reason === 'Quiet';
  return { type: QUEUE_SCALED, status: ready === wanted ? 'True' : 'False', reason, message, ...(isNews && { event: 'Normal' as const }) };
}
