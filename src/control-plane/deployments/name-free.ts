import type { Stored } from '../stored/stored.ts';
import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import type { CallContext } from '../caller.ts';
import { buildTenantFilter } from './lookup.ts';
import { Conflict } from '../../errors.ts';
import type {
  DeploymentResource,
  TracingProjectResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { resolveProjectTenant } from '../../schema/platform/resources/tenancy.ts';

/**
 * Throws if the name is taken. It reads the owner of the name again, because the object that the watch shows may have
 * been deleted.
 */
export async function checkNameFree(
  plane: { config: ControlPlaneConfig; stored: Stored },
  name: string,
  { namespace, caller, signal }: CallContext & { namespace: string },
): Promise<void> {
  const { stored, config } = plane;
  const mine = buildTenantFilter(plane, caller);
  const listNamesakes = (): DeploymentResource[] =>
    stored.listNamed(name).filter((other) => mine(other) || other.metadata.namespace === namespace);
  const listProjects = (): TracingProjectResource[] =>
    stored
      .listProjectsNamed(name)
      .filter(
        (project) =>
          resolveProjectTenant(project, stored.getOwners(), config.defaultTenantId) ===
          caller.tenantId,
      );
  await Promise.all([
    ...listNamesakes().map((deployment) => stored.refresh.deployment(deployment, signal)),
    ...listProjects().map((project) => stored.refresh.project(project, signal)),
  ]);
  if (listNamesakes().length > 0) throw new Conflict(`A deployment named ${name} already exists.`);
  if (listProjects().length > 0)
    throw new Conflict(
      `Deployments create a tracing project of their name, and there is already a tracing project named ${name}.`,
    );
}
