import { isObject } from '../../schema/json.ts';

/*
 * Kubernetes' "restricted" pod security profile, for the securityContext of one container. A key that is not listed is
 * refused.
 */

type Allowed = (value: unknown) => boolean;

const only =
  (...values: unknown[]): Allowed =>
  (value) =>
    values.includes(value);

const words = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

/** A list that the operator's own `drop: [ALL]` would give way to must have ALL itself. */
const capabilities: Allowed = (value) =>
  isObject(value) &&
  ((value.drop ?? null) === null || words(value.drop).includes('ALL')) &&
  Object.keys(value).every((key) => key === 'drop' || key === 'add') &&
  words(value.add).every((word) => word === 'NET_BIND_SERVICE');

const profile: Allowed = (value) => isObject(value) && (value.type === 'RuntimeDefault' || value.type === 'Localhost');

const ALLOWED: Readonly<Record<string, Allowed>> = {
  allowPrivilegeEscalation: only(false),
  privileged: only(false),
  runAsNonRoot: only(true),
  runAsUser: (value) => typeof value === 'number' && value > 0,
  runAsGroup: (value) => typeof value === 'number' && value >= 0,
  readOnlyRootFilesystem: only(true, false),
  procMount: only('Default'),
  capabilities,
  seccompProfile: profile,
  appArmorProfile: profile,
};

/** Returns the keys and values of a securityContext that would loosen the pod's confinement. */
export function brokenSecurityContext(context: Record<string, unknown> | null | undefined, at: string): string[] {
  return Object.entries(context ?? {})
    .filter(([key, value]) => value !== null && !(Object.hasOwn(ALLOWED, key) && ALLOWED[key]?.(value)))
    .map(([key]) => `${at}.${key}: not allowed here (an administrator may grant "privileged")`);
}
