import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { Component } from '../../schema/platform/objects/labels.ts';
import { buildAppliedMetadata } from './metadata.ts';

/** Returns a disruption budget of a deployment's pods, which drains of nodes respect. */
export const buildDisruptionBudget = (
  deployment: DeploymentResource,
  component: Component,
  name: string,
  selector: Record<string, string>,
  /** Pods that may be away. */
  maxUnavailable: number,
): KubeObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: buildAppliedMetadata(deployment, component, name),
  spec: {
    maxUnavailable,
    selector: { matchLabels: selector },
    // A pod that is not ready serves nobody, but by default it would also hold up a drain.
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
  },
});
