import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  type JoinedTenant,
  resolveDeploymentTenant,
  resolveNamespaceTenant,
  type Owners,
  chooseNamespaceOwners,
} from '../../schema/platform/resources/tenancy.ts';
import type { ReportedUsage } from '../../schema/wire/reported-usage.ts';
import type { SpendingDeployment } from '../scale/tenant-budgets.ts';
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

/** Returns all deployments that belong to a tenant, with the usage in their status and the usage last reported. */
export function* listSpendingDeployments(
  caches: Caches,
  settings: OperatorSettings,
  reportedOf: (key: string) => ReportedUsage | undefined,
): Generator<SpendingDeployment> {
  const owners = mapNamespaceOwners(caches, settings);
  for (const deployment of caches.deployments.list()) {
    const tenant = resolveDeploymentTenant(deployment, owners, settings.defaultTenantId);
    if (tenant === undefined) continue;
    const { namespace = '', name } = deployment.metadata;
    const key = `${namespace}/${name}`;
    yield { key, tenant, status: deployment.status ?? {}, reported: reportedOf(key) };
  }
}
