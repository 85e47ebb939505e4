import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { SECRETS_OF } from '../../schema/platform/objects/labels.ts';
import { toLabelValue, names } from '../../schema/names.ts';
import { buildOwnedMetadata } from '../objects/metadata.ts';

export const STORE_PORT = 6379;
/** Bytes that make a password of 32 characters. */
const PASSWORD_BYTES = 24;

/**
 * Returns the Secret with the password of a deployment's key-value store, and with the address at which its agents find
 * it. It is deleted with its deployment; the finalizer finds it by its label.
 */
export function storeSecret(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  random: (bytes: number) => Buffer,
): KubeObject {
  const { name, namespace } = deployment.metadata;
  const password = random(PASSWORD_BYTES).toString('base64url');
  const metadata = buildOwnedMetadata(deployment, 'store', names.storeSecret(name));
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, labels: { ...metadata.labels, [SECRETS_OF]: toLabelValue(name) } },
    type: 'Opaque',
    immutable: true,
    stringData: {
      password,
      uri: `redis://:${password}@${names.store(name)}.${namespace}.svc.${settings.clusterDomain}:${STORE_PORT}`,
    },
  };
}
