import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { RENEW_DATABASE } from '../../../schema/platform/objects/labels.ts';
import { hashJson } from '../../../schema/canonical-json.ts';
import { isSetUp } from '../../pods/workload-state.ts';

/** The annotation with the hash of the deployment's requests for its database's pod. */
const ASKED = 'gx.dev/asked';

/** The annotation with the request for another pod that the set's pod template fulfils. */
const RENEWED = 'gx.dev/renewed';

/** Returns the set with the hash of the deployment's requests for its pod: sizes and, by annotation, today's image. */
export function addRequestHash(deployment: DeploymentResource, set: KubeObject): KubeObject {
  const renewal = deployment.metadata.annotations?.[RENEW_DATABASE];
  const own = {
    [ASKED]: hashRequest(deployment),
    ...(renewal !== undefined && { [RENEWED]: renewal }),
  };
  return {
    ...set,
    metadata: { ...set.metadata, annotations: { ...set.metadata.annotations, ...own } },
  };
}

/** Returns the set with the requests that the live one fulfils, for a database that does not restart yet. */
export function copyRequestHash(set: KubeObject, live: KubeObject): KubeObject {
  const given = Object.entries(live.metadata.annotations ?? {}).filter(
    ([name]) => name === ASKED || name === RENEWED,
  );
  return {
    ...set,
    metadata: {
      ...set.metadata,
      annotations: { ...set.metadata.annotations, ...Object.fromEntries(given) },
    },
  };
}

/** Returns whether the set was made by the deployment's last request for another pod. Undefined if it has none. */
export function isRenewed({ metadata }: DeploymentResource, set: KubeObject): boolean | undefined {
  const renewal = metadata.annotations?.[RENEW_DATABASE];
  return renewal === undefined ? undefined : set.metadata.annotations?.[RENEWED] === renewal;
}

/**
 * The database keeps its pod, because its deployment asks for no other one. One that never answered has nothing to
 * keep, so that an image repaired by the installation's settings gets in.
 */
export function isSettled(deployment: DeploymentResource, live: KubeObject | undefined): boolean {
  const isTried = deployment.status?.activeRevision !== undefined || isSetUp(live);
  return isTried && live?.metadata.annotations?.[ASKED] === hashRequest(deployment);
}

function hashRequest({ metadata, spec }: DeploymentResource): string {
  const { dbStorageGi: _volume, ...sizes } = spec.template.resourceSpec ?? {};
  const given = Object.entries(sizes).filter(
    ([name]) => name.startsWith('db') || name === 'imagePullSecrets',
  );
  const { placement } = spec.database ?? {};
  // A deployment without one keeps the hash that it had before there were placements, and with it its pod.
  return hashJson([
    Object.fromEntries(given),
    metadata.annotations?.[RENEW_DATABASE] ?? null,
    ...(placement === undefined ? [] : [placement]),
  ]);
}
