import type { OperatorSettings } from '../../../../config/platform/operator.ts';
import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import { SECRETS_OF } from '../../../../schema/platform/objects/labels.ts';
import { toLabelValue, names } from '../../../../schema/names.ts';
import type { RenewedTls } from './make.ts';
import { buildOwnedMetadata } from '../../../objects/metadata.ts';

/** Returns every name that pods reach the database by, the short one first. */
export function listDatabaseHosts(
  { metadata }: DeploymentResource,
  { clusterDomain }: OperatorSettings,
): [string, ...string[]] {
  const short = names.database(metadata.name);
  const inNamespace = `${short}.${metadata.namespace}`;
  return [short, inNamespace, `${inNamespace}.svc`, `${inNamespace}.svc.${clusterDomain}`];
}

/**
 * Returns the two Secrets: of the authority, which no pod mounts, and of the database's certificate. They are deleted
 * with their deployment, because the data does not depend on them. The finalizer finds them by their label.
 */
export const buildTlsSecrets = (
  deployment: DeploymentResource,
  { authority, server }: RenewedTls,
): [TlsSecret, TlsSecret] => [
  buildSecret(deployment, names.databaseAuthority(deployment.metadata.name), 'Opaque', authority),
  buildSecret(deployment, names.databaseTls(deployment.metadata.name), 'kubernetes.io/tls', server),
];

export type TlsSecret = KubeObject & { data: Record<string, string> };
function buildSecret(
  deployment: DeploymentResource,
  name: string,
  type: string,
  data: Record<string, string>,
): TlsSecret {
  const metadata = buildOwnedMetadata(deployment, 'tls', name);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [SECRETS_OF]: toLabelValue(deployment.metadata.name) },
    },
    type,
    data: Object.fromEntries(
      Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    ),
  };
}
