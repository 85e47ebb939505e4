import type { Writer } from '../../../kernel/writer.ts';
import type { Kube } from '../../../../kube/kube.ts';
import { kinds } from '../../../../kube/kinds.ts';
import { PASSWORD_ROTATED } from '../../../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import { names } from '../../../../schema/names.ts';
import { isUnconfigured } from '../../../pods/diagnose.ts';
import type { StatedCondition } from '../../../kernel/outcome.ts';
import { isRequestHandled } from '../../../rollout/deployment.ts';
import { buildLostCredential } from './secret.ts';
import { getDataOwner } from '../../../objects/metadata.ts';
import type { DatabaseView } from '../../database.ts';

/**
 * Returns true if the Secret in use has to be looked up, because a pod can't be started without it or a person asks for
 * that. Secrets are not watched, and a settled deployment reads none.
 */
export const isDoubted = (deployment: DeploymentResource, { agentPods }: DatabaseView): boolean =>
  agentPods.some(isUnconfigured) || !isRequestHandled(deployment);

/** Returns the number of the password whose Secret has this name. Undefined if there is none. */
export function findPasswordNumber(
  secret: string,
  deployment: DeploymentResource,
): number | undefined {
  const owner = getDataOwner(deployment);
  const numbers = [0, Number(/-(\d+)$/.exec(secret)?.[1] ?? 0)];
  return numbers.find(
    (number) => secret === names.databaseSecret(deployment.metadata.name, owner, number),
  );
}

/**
 * Marks a password as lost when its Secret was deleted. Nobody can recover it, but the admin can set another one: a
 * Secret without a password takes its place, and the change goes on from there. Without the admin's Secret only a
 * person at the database's own socket can help, and the condition says so.
 */
export async function markLost(
  { kube, writer }: { kube: Kube; writer: Writer },
  deployment: DeploymentResource,
  { used, signal }: { used: string; signal: AbortSignal },
): Promise<StatedCondition | undefined> {
  const { name, namespace } = deployment.metadata;
  const admin = names.databaseAdmin(name, getDataOwner(deployment));
  const number = findPasswordNumber(used, deployment);
  const isThere = await kube.find(kinds.secret, { namespace, name: admin }, signal);
  if (number !== undefined && isThere !== undefined) {
    await writer.create(buildLostCredential(deployment, number), signal);
    return undefined;
  }
  const lost =
    isThere === undefined ? `the Secrets ${used} and ${admin} are` : `the Secret ${used} is`;
  const message = `No pod can be started, because ${lost} gone; running pods continue. Restore the lost credentials, or give the database's admin another password by hand.`;
  return {
    type: PASSWORD_ROTATED,
    status: 'False',
    reason: 'CredentialLost',
    message,
    event: 'Warning',
  };
}
