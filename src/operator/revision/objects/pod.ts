import type { OperatorSettings } from '../../../config/operator.ts';
import type { RevisionResource } from '../../../schema/platform/custom-resources.ts';
import { selectorOf } from '../../../schema/platform/labels.ts';
import { userOfImage } from '../../objects/user-of-image.ts';
import { agentPlace, placed } from '../../objects/placed.ts';
import { pullSecrets } from '../../objects/pull-secrets.ts';
import { addressed, OWN_FOLDER } from './addressed.ts';
import { guarded } from './guarded.ts';
import { mainContainer } from './main-container.ts';
import { isNativeSidecar, nativeSidecar, once, withoutNulls } from './containers.ts';
import type { WorkloadWish } from './sizes.ts';

/** User and group of the agent server's image. */
const AGENT_ID = 10001;
/** Seconds that a pod gets beyond the server's own grace period, to hand back its runs and close. */
const GRACE_BEYOND_DRAIN = 30;

/** Returns the pod of an api or queue workload: restricted security, and all that the resource spec asks for. */
export function podSpec(revision: RevisionResource, wish: WorkloadWish, settings: OperatorSettings): object {
  const spec = revision.spec.template.resourceSpec ?? {};
  const sidecars = spec.sidecars ?? [];
  const registry = revision.spec.source === 'git' ? settings.builder?.pullSecretName : undefined;
  const pulls = registry === undefined ? spec.imagePullSecrets : [{ name: registry }];
  const init = [...(spec.initContainers ?? []), ...sidecars.filter(isNativeSidecar)];
  return {
    automountServiceAccountToken: spec.automountServiceAccountToken === true,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: settings.drainSeconds + GRACE_BEYOND_DRAIN,
    ...(spec.serviceAccountName !== undefined && { serviceAccountName: spec.serviceAccountName }),
    ...pullSecrets(pulls, settings),
    ...placed(agentPlace(revision, settings), selectorOf(revision.spec.deployment, wish.component, revision.metadata.name)),
    securityContext: {
      runAsNonRoot: true,
      ...userOfImage(AGENT_ID, settings),
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(init.length > 0 && {
      initContainers: init.map((each) => (isNativeSidecar(each) ? nativeSidecar(each, settings) : once(each, settings))),
    }),
    containers: [
      mainContainer(revision, wish, settings),
      ...sidecars.filter((sidecar) => !isNativeSidecar(sidecar)).map((sidecar) => once(sidecar, settings)),
    ],
    volumes: [
      { name: OWN_FOLDER, emptyDir: {} },
      ...addressed(wish.address).volumes,
      ...guarded(revision, wish, settings).volumes,
      ...(spec.volumes ?? []).map(withoutNulls),
    ],
  };
}
