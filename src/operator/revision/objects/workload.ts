import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { ownerReference, type RevisionResource } from '../../../schema/platform/custom-resources.ts';
import { BEGAN_WITH, DATABASE_ADDRESS, DEPLOYMENT, ownLabels, REVISION, selectorOf } from '../../../schema/platform/labels.ts';
import { names } from '../../../schema/names.ts';
import { wordsFor } from '../../../schema/platform/object-keys.ts';
import { stampOf } from '../../database/address.ts';
import type { WorkloadComponent } from '../../rollout/replicas.ts';
import { podSpec } from './pod.ts';
import type { WorkloadWish } from './sizes.ts';

export const workloadName = (revision: string, component: WorkloadComponent): string =>
  component === 'api' ? names.apiWorkload(revision) : names.queueWorkload(revision);

/** Returns one half of a revision's pair: the workload (apps/v1 Deployment) of its api or its queue pods. */
export function workload(revision: RevisionResource, wish: WorkloadWish, settings: OperatorSettings): KubeObject {
  const { metadata, spec } = revision;
  const ofPods = wordsFor(spec.template.resourceSpec, 'pods', settings.objectKeys);
  const others = wordsFor(spec.template.resourceSpec, 'others');
  const own = ownLabels(spec.deployment, wish.component, metadata.name);
  const origin = { [DEPLOYMENT]: spec.deployment, [REVISION]: metadata.name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: workloadName(metadata.name, wish.component),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: { ...others.labels, ...own },
      annotations: { ...others.annotations, ...origin, ...(wish.beganWith !== undefined && { [BEGAN_WITH]: String(wish.beganWith) }) },
      ownerReferences: [ownerReference('Revision', metadata)],
    },
    spec: {
      ...(wish.replicas !== undefined && { replicas: wish.replicas }),
      revisionHistoryLimit: 1,
      progressDeadlineSeconds: settings.progressDeadlineSeconds,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: selectorOf(spec.deployment, wish.component, metadata.name) },
      template: {
        metadata: {
          labels: { ...ofPods.labels, ...own },
          annotations: {
            ...ofPods.annotations,
            ...origin,
            [DATABASE_ADDRESS]: stampOf(wish.address),
          },
        },
        spec: podSpec(revision, wish, settings),
      },
    },
  };
}
