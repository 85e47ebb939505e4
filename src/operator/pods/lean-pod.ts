import type { KubeObject } from '../../kube/kube.ts';
import { getPodStatus } from './diagnose.ts';
import { dropUndefined } from '../../schema/json.ts';

/** Returns a pod with only the parts that a diagnosis reads: its status, and whose it is. */
export function trimPod(pod: KubeObject): KubeObject {
  const {
    name,
    namespace,
    uid,
    resourceVersion,
    creationTimestamp,
    deletionTimestamp,
    labels,
    annotations,
  } = pod.metadata;
  const { phase, reason, message, conditions, containerStatuses, initContainerStatuses } =
    getPodStatus(pod);
  const metadata = {
    name,
    namespace,
    uid,
    resourceVersion,
    creationTimestamp,
    deletionTimestamp,
    labels,
    annotations,
  };
  return {
    apiVersion: pod.apiVersion,
    kind: pod.kind,
    metadata: { ...dropUndefined(metadata), name },
    status: {
      phase,
      ...(reason !== undefined && { reason, message }),
      conditions,
      containerStatuses,
      initContainerStatuses,
    },
  };
}

/** Returns the part of a pod's status that reconciles read. */
export function pickPodStatus(pod: KubeObject): object {
  const { conditions = [], ...status } = getPodStatus(pod);
  // The next state of its containers shows that it was scheduled or initialised.
  const read = conditions.filter(
    ({ type, status: is }) => type === 'Ready' || type === 'DisruptionTarget' || is === 'False',
  );
  return {
    ...status,
    conditions: read.map(({ type, status: is, reason, message }) => ({
      type,
      is,
      reason,
      message,
    })),
  };
}

/** Returns true for a pod without any status yet, which was already expected. */
export const isUnreported = (pod: KubeObject): boolean =>
  Object.values(getPodStatus(pod)).every((value) => value === undefined || value === 'Pending');
