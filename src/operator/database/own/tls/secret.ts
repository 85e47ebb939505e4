import type { OperatorSettings } from '../../../../config/operator.ts';
import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/custom-resources.ts';
import { SECRETS_OF } from '../../../../schema/labels.ts';
import { labelValue, names } from '../../../../schema/names.ts';
import type { TlsData } from './due.ts';
import { ownedMetadata } from '../../../family/metadata.ts';

/** Returns every name that pods reach the database by, the short one first. */
export function databaseHosts({ metadata }: DeploymentResource, { clusterDomain }: OperatorSettings): [string, ...string[]] {
  const short = names.database(metadata.name);
  const inNamespace = `${short}.${metadata.namespace}`;
  return [short, inNamespace, `${inNamespace}.svc`, `${inNamespace}.svc.${clusterDomain}`];
}

/**
 * Returns the Secret of the database's certificate. It is deleted with its deployment, because the data does not depend
 * on it. The finalizer finds it by its label.
 */
export function tlsSecret(deployment: DeploymentResource, data: TlsData): KubeObject & { data: Record<string, string> } {
  const { name } = deployment.metadata;
  const metadata = ownedMetadata(deployment, 'tls', names.databaseTls(name));
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, labels: { ...metadata.labels, [SECRETS_OF]: labelValue(name) } },
    type: 'kubernetes.io/tls',
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}
