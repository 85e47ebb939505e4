import type { OperatorSettings } from '../../config/operator.ts';
import type { RevisionResource } from '../../schema/platform/custom-resources.ts';
import { configuredIntegration, integrationOf, type GitIntegration } from '../../schema/platform/git-connection.ts';
import { repoUrlFault } from '../../schema/platform/repo-url.ts';
import { namedTenant } from '../../schema/platform/tenancy.ts';
import type { Caches } from './caches.ts';
import { ownersIn } from './tenancy.ts';

type Known = Pick<Caches, 'gitIntegrations' | 'listeners' | 'namespaces'>;

/** Returns the tenant of a namespace. Undefined for one that belongs to nobody. */
function tenantOfNamespace(caches: Known, settings: OperatorSettings, namespace: string): string | undefined {
  const owner = ownersIn(caches, settings).get(namespace);
  return owner && namedTenant(owner.spec, settings.defaultTenantId);
}

/** Returns the function that names whose turns work for a namespace takes: its tenant's, or the namespace's own. */
export function nameTurns(caches: Known, settings: OperatorSettings): (namespace?: string) => string {
  const owners = ownersIn(caches, settings);
  return (namespace = '') => {
    const owner = owners.get(namespace);
    return owner === undefined ? `namespace ${namespace}` : namedTenant(owner.spec, settings.defaultTenantId);
  };
}

/** Returns the connection to a git host with this id, of whatever tenant. */
export function integrationWithId(
  caches: Known,
  { gitIntegrations, defaultTenantId }: OperatorSettings,
  id: string,
): GitIntegration | undefined {
  const wanted = id.toLowerCase();
  const configured = gitIntegrations.find((entry) => entry.id.toLowerCase() === wanted);
  if (configured !== undefined) return configuredIntegration(configured, defaultTenantId);
  const stored = caches.gitIntegrations
    .list()
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map((resource) => integrationOf(resource, defaultTenantId));
  return stored.find((integration) => integration.id === wanted);
}

/** Where a deployment is built from: its connection, or why it may not be. */
export type BuildSource = { integration: GitIntegration } | { fault: string };

/** Returns the connection that a deployment or revision is built with. Another tenant's is not there for it. */
export function buildSource(
  caches: Known,
  settings: OperatorSettings,
  { metadata, spec }: { metadata: { namespace?: string }; spec: Pick<RevisionResource['spec'], 'sourceConfig'> },
): BuildSource {
  const { integrationId = '', repoUrl = '' } = spec.sourceConfig ?? {};
  const integration = integrationWithId(caches, settings, integrationId);
  if (integration === undefined || integration.tenantId !== tenantOfNamespace(caches, settings, metadata.namespace ?? ''))
    return { fault: `sourceConfig.integrationId: the tenant of the namespace has no integration ${integrationId}.` };
  const fault = repoUrlFault(integration, repoUrl);
  return fault === undefined ? { integration } : { fault: `sourceConfig.repoUrl: ${repoUrl} ${fault}.` };
}
