import type { KubeObject } from '../kube/kube.ts';
import type { ObjectMeta } from '../schema/custom-resources.ts';
import { statusOfPod } from './pods/diagnose.ts';

/** Returns a pod with only what a diagnosis reads: its status, and whose it is. */
export function leanPod(pod: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, annotations } = pod.metadata;
  const { phase, reason, message, conditions, containerStatuses, initContainerStatuses } = statusOfPod(pod);
  const metadata = { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, annotations };
  const known: Partial<ObjectMeta> = Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined));
  return {
    apiVersion: pod.apiVersion,
    kind: pod.kind,
    metadata: { ...known, name },
    status: { phase, ...(reason !== undefined && { reason, message }), conditions, containerStatuses, initContainerStatuses },
  };
}
