import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { names } from '../../../schema/names.ts';
import { DATABASE_PORT, DATABASE_USER } from './database.ts';
import { childMetadata, dataOwner } from './metadata.ts';

/**
 * The database's credential, made once and never again: another password over the same volume would lock everybody out. It has no owner,
 * because it must live as long as the volume; the deployment's finalizer removes it where the policy says so.
 */
export function databaseCredential(deployment: DeploymentResource, settings: OperatorSettings, password: string): KubeObject {
  const { name, namespace } = deployment.metadata;
  const host = `${names.database(name)}.${namespace}.svc.${settings.clusterDomain}`;
  const address = `${host}:${DATABASE_PORT}/${DATABASE_USER}`;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: childMetadata(deployment, 'database', names.databaseSecret(name, dataOwner(deployment))),
    type: 'Opaque',
    immutable: true,
    stringData: {
      host,
      port: String(DATABASE_PORT),
      dbname: DATABASE_USER,
      user: DATABASE_USER,
      password,
      uri: `postgresql://${DATABASE_USER}:${encodeURIComponent(password)}@${address}`,
    },
  };
}
