import type { QueueReason } from '../../scale/queue-scale.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { QUEUE_SCALED } from '../../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { buildPodSelector } from '../../../schema/platform/objects/labels.ts';
import { names } from '../../../schema/names.ts';
import { isQueueScaled, queueWanted } from '../../rollout/queue-size.ts';
import { findRevisionByName } from '../../rollout/revisions.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { getAvailableReplicas } from '../../pods/workload-state.ts';
import type { QueueState } from '../../scale/queue-scale.ts';
import type { PartReport } from '../../reports/part-report.ts';
import type { Part, WrittenFacts } from '../part.ts';

/** The queue pods of a deployment, if their number follows something. */
export const queue: Part = { report: queueReport };

function queueReport({
  deployment,
  revisions,
  active,
  workloads,
  queue: state,
  settings,
  isAsleep,
}: WrittenFacts): PartReport {
  const revision = findRevisionByName(revisions, active);
  if (revision === undefined || !isQueueScaled(revision, deployment, settings)) return {};
  const findWorkload = (name: string): KubeObject | undefined =>
    workloads.find(({ metadata }) => metadata.name === name);
  const [api, live] = [
    findWorkload(names.apiWorkload(revision.metadata.name)),
    findWorkload(names.queueWorkload(revision.metadata.name)),
  ];
  const wanted = isAsleep
    ? 0
    : queueWanted(revision, { deployment, api, queue: live, state }, settings);
  const ready = getAvailableReplicas(live);
  const selector = Object.entries(buildPodSelector(deployment.metadata.name, 'queue')).map(
    ([name, value]) => `${name}=${value}`,
  );
  return {
    status: { queueReplicas: wanted, queueReady: ready, queueSelector: selector.join(',') },
    statements: [buildQueueCondition(deployment, wanted, ready, state)],
  };
}

function buildQueueCondition(
  { spec }: DeploymentResource,
  wanted: number,
  ready: number,
  state: QueueState | undefined,
): StatedCondition {
  const given: { reason: QueueReason; message: string } = state ?? {
    reason: 'NotReported',
    message: 'The agents have not reported their work yet.',
  };
  const why: { reason: QueueReason; message: string } =
    spec.queueReplicas === undefined
      ? given
      : {
          reason: 'AskedByOthers',
          message: `spec.queueReplicas asks for ${spec.queueReplicas} queue pods.`,
        };
  const { reason, message } = why;
  const isNews = reason === 'Backlog' || reason === 'Quiet';
  return {
    type: QUEUE_SCALED,
    status: ready === wanted ? 'True' : 'False',
    reason,
    message,
    ...(isNews && { event: 'Normal' as const }),
  };
}
