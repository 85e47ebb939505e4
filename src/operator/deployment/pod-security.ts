import type { KubeObject } from '../../kube/kube.ts';
import { POD_SECURITY_OPEN } from '../../schema/platform/objects/conditions.ts';
import { POD_SECURITY } from '../../schema/platform/objects/labels.ts';
import type { StatedCondition } from '../kernel/outcome.ts';

/** The levels of Kubernetes' Pod Security Standards that keep a pod from its node. */
const KEPT = ['baseline', 'restricted'];

/** Returns true if the namespace takes pods of any kind, as far as its labels tell. */
export const isPodSecurityOpen = ({ metadata }: KubeObject): boolean =>
  !KEPT.includes(metadata.labels?.[POD_SECURITY] ?? '');

/**
 * Tells that a namespace enforces no pod security. The platform adds restricted defaults to its pods, but the author of
 * a Deployment resource may ask for others. Nothing is known of a namespace that no Listener names.
 */
export const buildPodSecurityConditions = (place: KubeObject | undefined): StatedCondition[] =>
  place === undefined || !isPodSecurityOpen(place)
    ? []
    : [
        {
          type: POD_SECURITY_OPEN,
          status: 'True',
          reason: 'NothingEnforced',
          message:
            `Namespace ${place.metadata.name} enforces no pod security, so anyone who may write deployments there may start privileged pods. ` +
            `Label it with ${POD_SECURITY}=restricted, unless the cluster enforces it by other means.`,
        },
      ];
