import type { KubeObject } from '../../kube/kube.ts';
import type { ObjectMeta } from '../../schema/platform/objects/object-meta.ts';

/**
 * Meshes are asked to leave pods of Jobs out, because a sidecar would keep a pod that has done its work: Istio with and
 * without sidecars, Kuma, Linkerd and Consul. Only policies that insist still add one.
 */
const OUTSIDE_MESHES = {
  labels: {
    'sidecar.istio.io/inject': 'false',
    'istio.io/dataplane-mode': 'none',
    'kuma.io/sidecar-injection': 'disabled',
  },
  annotations: {
    'linkerd.io/inject': 'disabled',
    'consul.hashicorp.com/connect-inject': 'false',
  },
};

/** Returns a Job. Every Job of ours is made here. */
export const buildJob = (
  metadata: ObjectMeta,
  spec: object,
  pod: { spec: object; labels?: Record<string, string>; annotations?: Record<string, string> },
): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata,
  spec: {
    ...spec,
    template: {
      metadata: {
        labels: { ...pod.labels, ...OUTSIDE_MESHES.labels },
        annotations: { ...pod.annotations, ...OUTSIDE_MESHES.annotations },
      },
      spec: pod.spec,
    },
  },
});
