import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { RENEW_DATABASE } from '../../../schema/platform/labels.ts';
import { hashOf } from '../../../schema/platform/revision-of.ts';
import { isSetUp } from '../../pods/workload-state.ts';

/** The annotation with the hash of the deployment's requests for its database's pod. */
const ASKED = 'gx.dev/asked';

/** Returns the set with the hash of the deployment's requests for its pod: sizes and, by annotation, today's image. */
export const withAsked = (deployment: DeploymentResource, set: KubeObject): KubeObject => ({
  ...set,
  metadata: { ...set.metadata, annotations: { ...set.metadata.annotations, [ASKED]: askedOf(deployment) } },
});

/**
 * The database keeps its pod, because its deployment asks for no other one. One that never answered has nothing to
 * keep, so that an image repaired by the installation's settings gets in.
 */
export function isSettled(deployment: DeploymentResource, live: KubeObject | undefined): boolean {
  const isTried = deployment.status?.activeRevision !== undefined || isSetUp(live);
  return isTried && live?.metadata.annotations?.[ASKED] === askedOf(deployment);
}

function askedOf({ metadata, spec }: DeploymentResource): string {
  const { dbStorageGi: _volume, ...sizes } = spec.template.resourceSpec ?? {};
  const given = Object.entries(sizes).filter(([name]) => name.startsWith('db') || name === 'imagePullSecrets');
  const { placement } = spec.database ?? {};
  // A deployment without one keeps the hash that it had before there were placements, and with it its pod.
  return hashOf([
    Object.fromEntries(given),
    metadata.annotations?.[RENEW_DATABASE] ?? null,
    ...(placement === undefined ? [] : [placement]),
  ]);
}
