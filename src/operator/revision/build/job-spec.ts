import type { Builder } from '../../../config/builder.ts';
import type { KubeObject } from '../../../kube/kube.ts';

/**
 * Seconds that Kubernetes gives a build beyond its deadline. The operator itself ends a late build after reading its
 * log. Kubernetes does so if no operator runs for that long.
 */
const BEYOND_DEADLINE = 60;

/** Returns the spec of a Job that builds once. Its pod has no way to the API server, and what `pod` says besides. */
export const jobSpec = (
  { deadlineSeconds, keepSeconds, serviceAccountName, registrySecretName: registry }: Builder,
  { labels, annotations }: Pick<KubeObject['metadata'], 'labels' | 'annotations'>,
  pod: object,
): object => ({
  // A build that fails would fail again, so its author learns of it at once. One whose node is drained has not failed.
  backoffLimit: 0,
  podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }] },
  activeDeadlineSeconds: deadlineSeconds + BEYOND_DEADLINE,
  ttlSecondsAfterFinished: keepSeconds,
  template: {
    metadata: { labels, annotations },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...(serviceAccountName !== undefined && { serviceAccountName }),
      ...(registry !== undefined && { imagePullSecrets: [{ name: registry }] }),
      ...pod,
    },
  },
});
