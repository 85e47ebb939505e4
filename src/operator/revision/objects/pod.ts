import type { OperatorSettings } from '../../../config/operator.ts';
import type { Container } from '../../../schema/container.ts';
import type { RevisionResource } from '../../../schema/custom-resources.ts';
import { mainContainer } from './main-container.ts';
import type { WorkloadWish } from './workload.ts';

/** User and group of the agent server's image. */
const AGENT_ID = 10001;
/** What a pod gets beyond the server's own grace, to hand back its runs and close. */
const GRACE_BEYOND_DRAIN = 30;

/** The pod of an api or queue workload: restricted security, and all that the resource spec asks for. */
export function podSpec(revision: RevisionResource, wish: WorkloadWish, settings: OperatorSettings): object {
  const spec = revision.spec.template.resourceSpec ?? {};
  const sidecars = spec.sidecars ?? [];
  const init = [...(spec.initContainers ?? []).map(once), ...sidecars.filter(isNativeSidecar).map(nativeSidecar)];
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: settings.drainSeconds + GRACE_BEYOND_DRAIN,
    ...(spec.serviceAccountName !== undefined && { serviceAccountName: spec.serviceAccountName }),
    ...(spec.imagePullSecrets && { imagePullSecrets: spec.imagePullSecrets }),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: AGENT_ID,
      runAsGroup: AGENT_ID,
      fsGroup: AGENT_ID,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(init.length > 0 && { initContainers: init }),
    containers: [mainContainer(revision, wish, settings), ...sidecars.filter((sidecar) => !isNativeSidecar(sidecar)).map(once)],
    volumes: [{ name: 'gx-tmp', emptyDir: {} }, ...(spec.volumes ?? []).map(withoutNulls)],
  };
}

/** Restarted on its own, Kubernetes runs it as an init container that stays. */
const isNativeSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

const nativeSidecar = (container: Container): object => ({ ...once(container), restartPolicy: 'Always' });

/** A user's container as the pod takes it; without a security context of its own it gets the restricted one. */
function once({ restartPolicy: _, ...container }: Container): object {
  const given = withoutNulls(container) as Record<string, unknown>;
  return { ...given, securityContext: given.securityContext ?? RESTRICTED };
}

export const RESTRICTED = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

/** REST clients send null for unset; Kubernetes wants the field gone. A false `readOnly` is what it stores as gone, too. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name, inner]) => inner !== null && !(name === 'readOnly' && inner === false));
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutNulls(inner)]));
}
