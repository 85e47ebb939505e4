import type { Container } from '../../../schema/container.ts';
import type { SecurityContext } from '../../../schema/pod-parts.ts';

/** Kubernetes runs a container that is restarted on its own as an init container that stays. */
export const isNativeSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

export const nativeSidecar = (container: Container): object => ({ ...once(container), restartPolicy: 'Always' });

/**
 * Returns a user's container as the pod takes it. What its security context leaves open is restricted. Whoever writes
 * resources may ask for more, and the namespace's pod security decides about it.
 */
export function once(container: Container): object {
  const given = withoutNulls({ ...container, restartPolicy: null }) as Record<string, unknown>;
  return { ...given, securityContext: restrictedBut(given.securityContext as SecurityContext | undefined) };
}

function restrictedBut(asked: SecurityContext = {}): object {
  // Kubernetes refuses a privileged container that may not escalate.
  const escalation = asked.privileged === true ? {} : { allowPrivilegeEscalation: RESTRICTED.allowPrivilegeEscalation };
  return { ...escalation, ...asked, capabilities: { ...RESTRICTED.capabilities, ...asked.capabilities } };
}

export const RESTRICTED = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

/**
 * Drops nulls, which REST clients send for unset fields and Kubernetes does not accept. It also drops a false
 * `readOnly`, which Kubernetes does not store.
 */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name, inner]) => inner !== null && !(name === 'readOnly' && inner === false));
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutNulls(inner)]));
}
