import type { KubeObject } from '../../kube/kube.ts';
import { COMPONENT, type Component } from '../../schema/platform/objects/labels.ts';

type WorkloadStatus = {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  availableReplicas?: number;
  readyReplicas?: number;
};

const getStatus = (object: KubeObject | undefined): WorkloadStatus =>
  (object?.status as WorkloadStatus | undefined) ?? {};

export const getReplicas = (workload: KubeObject | undefined): number =>
  (workload?.spec as { replicas?: number } | undefined)?.replicas ?? 1;

/** Returns true if every wanted replica of the present template is available and the status is about this template. */
export function isRolledOut(workload: KubeObject | undefined): boolean {
  if (workload === undefined) return false;
  const {
    observedGeneration = 0,
    replicas = 0,
    updatedReplicas = 0,
    availableReplicas = 0,
  } = getStatus(workload);
  const wanted = getReplicas(workload);
  if (observedGeneration < (workload.metadata.generation ?? 0)) return false;
  return replicas === wanted && updatedReplicas === wanted && availableReplicas === wanted;
}

/** Every pod of it has the present template, as its status says of this template. */
export function hasOnlyTodaysPods(workload: KubeObject): boolean {
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0 } = getStatus(workload);
  return observedGeneration >= (workload.metadata.generation ?? 0) && replicas === updatedReplicas;
}

/** Returns true if no pod of a deployment's agents is left and none will be made. */
export const hasNoAgentsLeft = (workloads: KubeObject[], agentPods: KubeObject[]): boolean =>
  agentPods.length === 0 && workloads.every((workload) => getReplicas(workload) === 0);

export const getAvailableReplicas = (workload: KubeObject | undefined): number =>
  getStatus(workload).availableReplicas ?? 0;

export const isSetUp = (statefulSet: KubeObject | undefined): boolean =>
  (getStatus(statefulSet).readyReplicas ?? 0) >= 1;

/** Returns all that reconciles read of a workload's status, as answers to the questions above. */
export const pickWorkloadFacts = (workload: KubeObject): object => ({
  rolledOut: isRolledOut(workload),
  available: getAvailableReplicas(workload),
  setUp: isSetUp(workload),
  refused: findReplicaFailure(workload),
});

/** Returns why its pods can't be made, in the API server's words, as for a quota or an admission rule. */
export function findReplicaFailure(workload: KubeObject | undefined): string | undefined {
  const { conditions = [] } =
    (workload?.status as
      | { conditions?: { type: string; status: string; message?: string }[] }
      | undefined) ?? {};
  const failure = conditions.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  return failure && (failure.message ?? '');
}

/** Returns true for a pod of this component that no workload owns any more and that nobody has deleted. */
export const isOrphan = ({ kind, metadata }: KubeObject, component: Component): boolean =>
  kind === 'Pod' &&
  metadata.labels?.[COMPONENT] === component &&
  (metadata.ownerReferences ?? []).length === 0 &&
  metadata.deletionTimestamp === undefined;

type ScalerCondition = { type: string; status: string; reason?: string; message?: string };

/** Returns the condition of an autoscaler that a reconcile reads: whether it scales, and why not. */
export function findScalingCondition(scaler: KubeObject | undefined): ScalerCondition | undefined {
  const { conditions = [] } = (scaler?.status ?? {}) as { conditions?: ScalerCondition[] };
  return conditions.find(({ type }) => type === 'ScalingActive');
}
