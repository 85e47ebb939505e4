import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  toConfiguredIntegration,
  toGitIntegration,
  type GitIntegration,
} from '../../schema/platform/source/git-connection.ts';
import { checkRepoUrl } from '../../schema/platform/source/repo-url.ts';
import { resolveTenantId } from '../../schema/platform/objects/tenant-id.ts';
import type { Caches } from './caches.ts';
import { mapNamespaceOwners } from './tenancy.ts';

/** Returns the tenant of a namespace. Undefined for one that belongs to nobody. */
function findNamespaceTenant(
  caches: Caches,
  settings: OperatorSettings,
  namespace: string,
): string | undefined {
  const owner = mapNamespaceOwners(caches, settings).get(namespace);
  return owner && resolveTenantId(owner.spec, settings.defaultTenantId);
}

/** Returns the function that names whose turns work for a namespace takes: its tenant's, or the namespace's own. */
export function buildTurnNames(
  caches: Caches,
  settings: OperatorSettings,
): (namespace?: string) => string {
  const owners = mapNamespaceOwners(caches, settings);
  return (namespace = '') => {
    const owner = owners.get(namespace);
    return owner === undefined
      ? `namespace ${namespace}`
      : resolveTenantId(owner.spec, settings.defaultTenantId);
  };
}

/** Returns the connection to a git host with this id, of whatever tenant. */
export function findGitIntegration(
  caches: Caches,
  { gitIntegrations, defaultTenantId }: OperatorSettings,
  id: string,
): GitIntegration | undefined {
  const wanted = id.toLowerCase();
  const configured = gitIntegrations.find((entry) => entry.id.toLowerCase() === wanted);
  if (configured !== undefined) return toConfiguredIntegration(configured, defaultTenantId);
  const stored = caches.gitIntegrations
    .list()
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map((resource) => toGitIntegration(resource, defaultTenantId));
  return stored.find((integration) => integration.id === wanted);
}

/** Where a deployment is built from: its connection, or why it may not be. */
export type BuildSource = { integration: GitIntegration } | { fault: string };

/** Returns the connection that a deployment or revision is built with. Another tenant's is not there for it. */
export function buildSource(
  caches: Caches,
  settings: OperatorSettings,
  {
    metadata,
    spec,
  }: { metadata: { namespace?: string }; spec: Pick<RevisionResource['spec'], 'sourceConfig'> },
): BuildSource {
  const { integrationId = '', repoUrl = '' } = spec.sourceConfig ?? {};
  const integration = findGitIntegration(caches, settings, integrationId);
  if (
    integration === undefined ||
    integration.tenantId !== findNamespaceTenant(caches, settings, metadata.namespace ?? '')
  )
    return {
      fault: `sourceConfig.integrationId: the tenant of the namespace has no integration ${integrationId}.`,
    };
  const fault = checkRepoUrl(integration, repoUrl);
  return fault === undefined
    ? { integration }
    : { fault: `sourceConfig.repoUrl: ${repoUrl} ${fault}.` };
}
