import type { Container } from '../../../schema/container.ts';

/** Kubernetes runs a container that is restarted on its own as an init container that stays. */
export const isNativeSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

export const nativeSidecar = (container: Container): object => ({ ...once(container), restartPolicy: 'Always' });

/** Returns a user's container as the pod takes it. Without a security context of its own it gets the restricted one. */
export function once(container: Container): object {
  const given = withoutNulls({ ...container, restartPolicy: null }) as Record<string, unknown>;
  return { ...given, securityContext: given.securityContext ?? RESTRICTED };
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
