import { randomBytes } from 'node:crypto';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { names } from '../../schema/names.ts';
import { isRequestHandled } from '../family/deployment.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { storeMemory } from './desired.ts';
import { storeSecret } from './secret.ts';

/** What the status says of the key-value store. */
export type StoreKept = { storeSecret?: string };

/**
 * Keeps the password of a deployment's key-value store as long as it has one. The Secret is not watched. It is made
 * again, if it is gone, when somebody asks for a reconcile.
 */
export async function keepStore(
  { kube, writer, settings }: Pick<OperatorDeps, 'kube' | 'writer' | 'settings'>,
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<StoreKept> {
  const known = deployment.status?.storeSecret;
  const { namespace, name } = deployment.metadata;
  if (storeMemory(deployment) === undefined) {
    if (known !== undefined) await kube.delete(kinds.secret, { namespace, name: known }, {}, signal);
    return {};
  }
  const made = names.storeSecret(name);
  if (known !== made || !isRequestHandled(deployment))
    await writer.create(storeSecret(deployment, settings, { random: randomBytes }), signal);
  return { storeSecret: made };
}
