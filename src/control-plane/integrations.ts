import type { ControlPlaneConfig, GitIntegration } from '../config/control-plane.ts';

type Settings = Pick<ControlPlaneConfig, 'gitIntegrations' | 'defaultTenantId'>;

/** Returns the connections to git hosts that belong to a tenant. */
export const ownIntegrations = ({ gitIntegrations, defaultTenantId }: Settings, tenantId: string): GitIntegration[] =>
  gitIntegrations.filter(({ tenant_id }) => (tenant_id ?? defaultTenantId) === tenantId);

/** Returns a tenant's connection with this id. Another tenant's is not found. */
export const ownIntegration = (settings: Settings, tenantId: string, id: string): GitIntegration | undefined =>
  ownIntegrations(settings, tenantId).find((known) => known.id === id.toLowerCase());
