import type { ListenerResource, TracingProjectResource } from './custom-resources.ts';
import type { ObjectMeta } from '../objects/object-meta.ts';
import { buildCreationKey } from './deployment-ids.ts';
import { TENANT } from '../objects/labels.ts';
import { resolveTenantId } from '../objects/tenant-id.ts';

/** Settings of an installation: its namespaces for agents, and the tenant who owns them. */
export type Installed = { agentNamespaces: readonly string[]; defaultTenantId: string };

/** Returns the tenant that a namespace has joined, or undefined if it has joined none. */
export type JoinedTenant = (namespace: string) => string | undefined;

/**
 * Returns the tenant that a namespace has joined: its owner says so by a label. Without the label, the namespaces of an
 * installation are its default tenant's.
 */
export function resolveNamespaceTenant(
  namespace: { name: string; labels?: Record<string, string> | undefined },
  { agentNamespaces, defaultTenantId }: Installed,
): string | undefined {
  const labelled = namespace.labels?.[TENANT];
  if (labelled !== undefined) return labelled.toLowerCase();
  return agentNamespaces.includes(namespace.name) ? defaultTenantId : undefined;
}

/** Each namespace that belongs to somebody, with its Listener. */
export type Owners = ReadonlyMap<string, ListenerResource>;

/**
 * Returns each namespace with the Listener that it belongs to: the oldest that names it, of the tenant that it has
 * joined. So a claim takes nothing from anybody. A namespace that no such Listener names belongs to nobody.
 */
export function chooseNamespaceOwners(
  listeners: readonly ListenerResource[],
  joined: JoinedTenant,
  defaultTenantId: string,
): Owners {
  const owners = new Map<string, ListenerResource>();
  for (const listener of listeners.toSorted((a, b) =>
    buildCreationKey(a) < buildCreationKey(b) ? -1 : 1,
  )) {
    const tenant = resolveTenantId(listener.spec, defaultTenantId);
    for (const namespace of listener.spec.namespaces)
      if (!owners.has(namespace) && joined(namespace) === tenant) owners.set(namespace, listener);
  }
  return owners;
}

/**
 * Returns the tenant of the objects in a namespace: that of the namespace's Listener. The tenant that an object names
 * never makes it anybody's: if it names another tenant than the Listener's, it belongs to nobody.
 */
function resolveObjectTenant(
  { namespace = '' }: ObjectMeta,
  named: string | undefined,
  owners: Owners,
  defaultTenantId: string,
): string | undefined {
  const owner = owners.get(namespace);
  if (owner === undefined) return undefined;
  const tenant = resolveTenantId(owner.spec, defaultTenantId);
  return named === undefined || named.toLowerCase() === tenant ? tenant : undefined;
}

/** Returns the tenant of a deployment, or undefined if it belongs to nobody. REST writes its tenant into a label. */
export const resolveDeploymentTenant = (
  { metadata }: { metadata: ObjectMeta },
  owners: Owners,
  defaultTenantId: string,
): string | undefined =>
  resolveObjectTenant(metadata, metadata.labels?.[TENANT], owners, defaultTenantId);

/** Returns the tenant of a tracing project, or undefined if it belongs to nobody. */
export const resolveProjectTenant = (
  { metadata, spec }: Pick<TracingProjectResource, 'metadata' | 'spec'>,
  owners: Owners,
  defaultTenantId: string,
): string | undefined => resolveObjectTenant(metadata, spec.tenantId, owners, defaultTenantId);
