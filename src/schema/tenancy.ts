import type { DeploymentResource, ListenerResource } from './custom-resources.ts';
import { TENANT } from './labels.ts';

/**
 * Returns the tenant that a Listener or TracingProject names, in lower case as keys and tokens spell it, because people
 * may write uuids in capitals.
 */
export const namedTenant = ({ tenantId }: { tenantId?: string | undefined }, defaultTenantId: string): string =>
  tenantId?.toLowerCase() ?? defaultTenantId;

type Owners = ReadonlyMap<string, ListenerResource>;

/** Returns a sort key by creation, then uid, so that all processes agree on the order. */
const ageOf = ({ metadata }: ListenerResource): string => `${metadata.creationTimestamp ?? ''}/${metadata.uid ?? ''}`;

/**
 * Returns each namespace with the Listener that it belongs to: the oldest that names it, so that a later claim takes
 * nothing from anybody.
 */
export function ownersOf(listeners: readonly ListenerResource[]): Map<string, ListenerResource> {
  const owners = new Map<string, ListenerResource>();
  for (const listener of listeners.toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1)))
    for (const namespace of listener.spec.namespaces) if (!owners.has(namespace)) owners.set(namespace, listener);
  return owners;
}

/**
 * Returns the tenant of a deployment: that of its namespace's Listener, so that nobody puts a deployment into another
 * tenant's list by a label. Without such a Listener it is the tenant that REST wrote on it, else the default one.
 */
export function tenantOf({ metadata }: DeploymentResource, owners: Owners, defaultTenantId: string): string {
  const owner = owners.get(metadata.namespace ?? '');
  if (owner !== undefined) return namedTenant(owner.spec, defaultTenantId);
  return namedTenant({ tenantId: metadata.labels?.[TENANT] }, defaultTenantId);
}
