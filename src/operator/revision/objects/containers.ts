import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { Container } from '../../../schema/platform/spec/container.ts';
import type { SecurityContext } from '../../../schema/platform/spec/pod-parts.ts';
import { isComposite } from '../../../schema/json.ts';

/** Kubernetes runs a container that is restarted on its own as an init container that stays. */
export const isNativeSidecar = ({ restartPolicy }: Container): boolean =>
  restartPolicy === 'Always';

export const buildNativeSidecar = (container: Container, settings: OperatorSettings): object => ({
  ...buildUserContainer(container, settings),
  restartPolicy: 'Always',
});

/**
 * Returns a user's container as the pod takes it. Fields that its security context leaves open are restricted. The
 * author of a resource may ask for more, and the namespace's pod security decides about it. Where the installation has
 * every image pulled, so that its registry is asked for the right to it, no container leaves that out.
 */
export function buildUserContainer(
  container: Container,
  { imagePullPolicy }: OperatorSettings,
): object {
  const given = dropNullFields({ ...container, restartPolicy: null }) as Record<string, unknown>;
  const always = imagePullPolicy === 'Always' ? { imagePullPolicy } : {};
  return {
    ...given,
    ...always,
    securityContext: buildSecurityContext(given.securityContext as SecurityContext | undefined),
  };
}

function buildSecurityContext(asked: SecurityContext = {}): object {
  // Kubernetes refuses a privileged container that may not escalate.
  const escalation =
    asked.privileged === true
      ? {}
      : { allowPrivilegeEscalation: RESTRICTED.allowPrivilegeEscalation };
  return {
    ...escalation,
    ...asked,
    capabilities: { ...RESTRICTED.capabilities, ...asked.capabilities },
  };
}

export const RESTRICTED = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

/**
 * Drops nulls, which REST clients send for unset fields and Kubernetes does not accept. It also drops a false
 * `readOnly`, which Kubernetes does not store.
 */
export function dropNullFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropNullFields);
  if (!isComposite(value)) return value;
  const kept = Object.entries(value).filter(
    ([name, inner]) => inner !== null && !(name === 'readOnly' && inner === false),
  );
  return Object.fromEntries(kept.map(([name, inner]) => [name, dropNullFields(inner)]));
}
