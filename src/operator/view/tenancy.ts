import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  type JoinedTenant,
  resolveDeploymentTenant,
  resolveNamespaceTenant,
  type Owners,
  chooseNamespaceOwners,
} from '../../schema/platform/resources/tenancy.ts';
import type { Caches } from './caches.ts';

/** Returns the tenants that namespaces have joined, as last seen. */
export const buildJoinedTenantLookup =
  ({ namespaces }: Caches, settings: OperatorSettings): JoinedTenant =>
  (name) =>
    resolveNamespaceTenant({ name, labels: namespaces.get(name)?.metadata.labels }, settings);

/** Returns each namespace that belongs to somebody, with its Listener. */
export const mapNamespaceOwners = (caches: Caches, settings: OperatorSettings): Owners =>
  chooseNamespaceOwners(
    caches.listeners.list(),
    buildJoinedTenantLookup(caches, settings),
    settings.defaultTenantId,
  );

/** Returns the tenant that a deployment belongs to, as REST sees it. */
export const findDeploymentTenant = (
  deployment: DeploymentResource,
  caches: Caches,
  settings: OperatorSettings,
): string | undefined =>
  resolveDeploymentTenant(
    deployment,
    mapNamespaceOwners(caches, settings),
    settings.defaultTenantId,
  );
