import type { Kube } from '../../../../kube/kube.ts';
import { kinds } from '../../../../kube/kinds.ts';
import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import { COMPONENT, DEPLOYMENT } from '../../../../schema/platform/objects/labels.ts';
import { toLabelValue } from '../../../../schema/names.ts';
import { filterCredentials, type Credential } from './credential.ts';

/** Lists the credentials of a deployment's managed database, oldest first. */
export async function listCredentials(
  { kube }: { kube: Kube },
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<Credential[]> {
  const { name, namespace } = deployment.metadata;
  const labelSelector = `${DEPLOYMENT}=${toLabelValue(name)},${COMPONENT}=database`;
  const secrets = await kube.listAll(
    kinds.secret,
    { ...(namespace !== undefined && { namespace }), labelSelector },
    signal,
  );
  return filterCredentials(secrets, deployment);
}
