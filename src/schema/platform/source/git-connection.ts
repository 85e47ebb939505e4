import type { GitIntegrationSpec, GitKind, ListedRepository } from './git-integration.ts';
import { resolveTenantId } from '../objects/tenant-id.ts';

/** A connection to a git host, from a custom resource or from the settings of the installation. */
export type GitIntegration = {
  id: string;
  tenantId: string;
  name: string;
  installationId: number;
  kind: GitKind;
  /** Undefined: exactly the listed repositories. */
  host?: string | undefined;
  apiUrl?: string | undefined;
  /** Undefined: all of the host. */
  repositories?: string[] | undefined;
  listed?: ListedRepository[] | undefined;
  credentialSecret?: string | undefined;
  webhookSecret?: string | undefined;
  pollSeconds?: number | undefined;
};

/** Returns the connection that a custom resource describes. */
export function toGitIntegration(
  { metadata, spec }: { metadata: { uid?: string }; spec: GitIntegrationSpec },
  defaultTenantId: string,
): GitIntegration {
  const { id, tenantId, installationId = 0, ...rest } = spec;
  return {
    ...rest,
    id: (id ?? metadata.uid ?? '').toLowerCase(),
    tenantId: resolveTenantId({ tenantId }, defaultTenantId),
    installationId,
  };
}

/** An entry of the setting GX_GIT_INTEGRATIONS, in REST's words. */
export type ConfiguredIntegration = {
  id: string;
  name: string;
  installation_id: number;
  tenant_id?: string;
  kind?: GitKind;
  host?: string;
  api_url?: string;
  repositories?: string[];
  credential_secret?: string;
  webhook_secret?: string;
  poll_seconds?: number;
  repos?: { id: number; name: string; owner: string; url: string; default_branch: string }[];
};

const GITHUB = 'https://github.com';

/**
 * Returns the connection that an entry of the settings describes. One that names neither a host nor repositories is of
 * github.com.
 */
export function toConfiguredIntegration(
  entry: ConfiguredIntegration,
  defaultTenantId: string,
): GitIntegration {
  const {
    host,
    repos,
    kind = host === undefined && repos === undefined ? 'github' : 'generic',
  } = entry;
  const usual = kind === 'github' && repos === undefined ? GITHUB : undefined;
  return {
    id: entry.id.toLowerCase(),
    tenantId: resolveTenantId({ tenantId: entry.tenant_id }, defaultTenantId),
    name: entry.name,
    installationId: entry.installation_id,
    kind,
    host: host ?? usual,
    apiUrl: entry.api_url,
    repositories: entry.repositories,
    listed: repos?.map(({ default_branch: defaultBranch, ...repo }) => ({
      ...repo,
      defaultBranch,
    })),
    credentialSecret: entry.credential_secret,
    webhookSecret: entry.webhook_secret,
    pollSeconds: entry.poll_seconds,
  };
}
