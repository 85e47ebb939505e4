import { kinds } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/platform/custom-resources.ts';
import { COMPONENT, DEPLOYMENT } from '../../../../schema/platform/labels.ts';
import { labelValue } from '../../../../schema/names.ts';
import type { OperatorDeps } from '../../../view/deps.ts';
import { credentialsAmong, type Credential } from './credential.ts';

/** Lists the credentials of a deployment's managed database, oldest first. */
export async function listCredentials(
  { kube }: Pick<OperatorDeps, 'kube'>,
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<Credential[]> {
  const { name, namespace } = deployment.metadata;
  const labelSelector = `${DEPLOYMENT}=${labelValue(name)},${COMPONENT}=database`;
  const secrets = await kube.all(kinds.secret, { ...(namespace !== undefined && { namespace }), labelSelector }, signal);
  return credentialsAmong(secrets, deployment);
}
