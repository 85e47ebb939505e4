import { NotFound } from '../errors.ts';
import { kinds, type Kube } from '../kube/kube.ts';
import type { DeploymentResource } from '../schema/custom-resources.ts';
import type { Secret } from '../schema/deployment.ts';
import { PART_OF, SECRETS_OF, TENANT } from '../schema/labels.ts';
import { labelValue, names } from '../schema/names.ts';
import type { Role } from './needs.ts';

type Owner = { deployment: string; namespace: string; tenantId: string };

/** Stores the values as one immutable Secret and gives its name. The only place that writes values. */
export async function storeSecrets(kube: Kube, owner: Owner, given: { secrets: readonly Secret[]; nonce: string }): Promise<string> {
  const name = names.secrets(owner.deployment, given.nonce);
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: owner.namespace,
      labels: { [SECRETS_OF]: labelValue(owner.deployment), [TENANT]: owner.tenantId, [PART_OF]: 'gx-platform' },
      annotations: { [SECRETS_OF]: owner.deployment },
    },
    type: 'Opaque',
    immutable: true,
    stringData: Object.fromEntries(given.secrets.map((secret) => [secret.name, secret.value])),
  });
  return name;
}

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The secrets of a deployment for this caller: values for a write key, empty texts for a read key. */
export async function readSecrets(
  kube: Kube,
  deployment: DeploymentResource,
  { role, signal }: { role: Role; signal: AbortSignal },
): Promise<Secret[]> {
  const name = deployment.spec.template.secretName;
  if (name === undefined) return [];
  try {
    const { data = {} } = await kube.get(kinds.secret, { namespace: deployment.metadata.namespace, name }, signal);
    return Object.entries(data)
      .filter(([key]) => ENV_NAME.test(key))
      .map(([key, value]) => ({ name: key, value: role === 'write' ? Buffer.from(value, 'base64').toString('utf8') : '' }));
  } catch (error) {
    if (error instanceof NotFound) return [];
    throw error;
  }
}
