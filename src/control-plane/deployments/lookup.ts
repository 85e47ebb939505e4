import type { CountedKube } from '../../kube/kube.ts';
import type { Stored } from '../stored/stored.ts';
import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import { Conflict, NotFound } from '../../errors.ts';
import { limitObject } from '../../kube/bounds.ts';
import { kinds } from '../../kube/kinds.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { resolveDeploymentTenant } from '../../schema/platform/resources/tenancy.ts';
import { resolveTenantId } from '../../schema/platform/objects/tenant-id.ts';
import type { CallContext, Caller } from '../caller.ts';

type Deployments = { config: ControlPlaneConfig; stored: Stored };

const buildNotFound = (id: string): NotFound => new NotFound(`Deployment ID ${id} not found.`);

/** Returns a predicate that is true for deployments of the caller's tenant. */
export const buildTenantFilter = ({ stored, config }: Deployments, caller: Caller) => {
  const owners = stored.getOwners();
  return (deployment: DeploymentResource): boolean =>
    resolveDeploymentTenant(deployment, owners, config.defaultTenantId) === caller.tenantId;
};

/** Returns the namespaces of the caller's tenant. */
export const listTenantNamespaces = (
  { stored, config }: Deployments,
  { tenantId }: Caller,
): string[] =>
  [...stored.getOwners()]
    .filter(([, { spec }]) => resolveTenantId(spec, config.defaultTenantId) === tenantId)
    .map(([namespace]) => namespace);

/** Returns the caller's deployment with this id, as last seen. A deployment of another tenant is not found. */
export async function findDeployment(
  plane: Deployments,
  id: string,
  { caller, signal }: CallContext,
): Promise<DeploymentResource> {
  const deployment = await plane.stored.findDeployment(
    id.toLowerCase(),
    buildTenantFilter(plane, caller),
    signal,
  );
  if (deployment === undefined) throw buildNotFound(id);
  return deployment;
}

/**
 * Reads the caller's deployment with this id from the API server now. Writes start from it. One that is out of bounds
 * can only be deleted, because a change would be made from a part of it.
 */
export async function readDeployment(
  plane: Deployments & { kube: CountedKube },
  id: string,
  call: CallContext,
  purpose: 'change' | 'removal' = 'change',
): Promise<DeploymentResource> {
  const { metadata } = await findDeployment(plane, id, call);
  const live = await plane.kube.find(
    kinds.deployment,
    { namespace: metadata.namespace, name: metadata.name },
    call.signal,
  );
  if (live === undefined || live.metadata.uid !== metadata.uid) throw buildNotFound(id);
  const { object, fault } = limitObject(live);
  if (fault !== undefined && purpose === 'change')
    throw new Conflict(
      `Deployment ID ${id} can't be changed here: ${fault.message} Write it again with kubectl, or delete it.`,
    );
  return object;
}
