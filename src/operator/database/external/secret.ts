import type { Kube } from '../../../kube/kube.ts';
import { kinds } from '../../../kube/kinds.ts';
import { DATABASE_READY } from '../../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { URI_KEY, type ExternalDatabase } from '../../../schema/platform/spec/database-spec.ts';
import { hasSeveralHosts, SEVERAL_HOSTS } from '../../../schema/platform/spec/database-address.ts';
import { isRequestHandled } from '../../rollout/deployment.ts';
import { isPodReady } from '../../pods/diagnose.ts';
import { isTrue } from '../../kernel/conditions.ts';
import type { DatabaseSecret } from '../../reports/part-report.ts';
import type { DatabaseStep, DatabaseView } from '../database.ts';

/** Reads the Secret that the deployment names for its external database. */
export const readExternalSecret = (
  deps: { kube: Kube },
  deployment: DeploymentResource,
  look: DatabaseStep,
): Promise<DatabaseSecret> =>
  readAddressSecret(deps, deployment, deployment.spec.database?.external as ExternalDatabase, look);

/**
 * Reads the Secret of an external database when the spec or the reconcile-now annotation has changed, and whenever the
 * database or a pod is not ready. It is not watched, and a settled deployment reads nothing.
 */
export async function readAddressSecret(
  { kube }: { kube: Kube },
  deployment: DeploymentResource,
  external: ExternalDatabase,
  { view, signal }: DatabaseStep,
): Promise<DatabaseSecret> {
  const { databaseSecret, databaseSecretVersion: version } = deployment.status ?? {};
  if (databaseSecret === external.secretName && isCalm(deployment, view))
    return { secret: databaseSecret, ...(version !== undefined && { version }) };
  const ref = { namespace: deployment.metadata.namespace, name: external.secretName };
  const found = await kube.find(kinds.secret, ref, signal);
  const problem = describeSecretFault(external, found?.data);
  if (problem !== undefined) return { problem };
  return { secret: external.secretName, version: found?.metadata.resourceVersion ?? '' };
}

function isCalm(deployment: DeploymentResource, { agentPods }: DatabaseView): boolean {
  const { metadata, status } = deployment;
  const isSeen = status?.observedGeneration === metadata.generation;
  return (
    isTrue(deployment, DATABASE_READY) &&
    isRequestHandled(deployment) &&
    isSeen &&
    agentPods.every(isPodReady)
  );
}

/** Describes the Secret's fault without quoting its values. Undefined if it has none. */
export function describeSecretFault(
  { secretName, key = URI_KEY }: ExternalDatabase,
  data: Record<string, string> | undefined,
): string | undefined {
  if (data === undefined)
    return `The Secret ${secretName} of the external database does not exist.`;
  const value = data[key];
  if (value === undefined)
    return `The Secret ${secretName} of the external database has no key ${key}.`;
  const text = Buffer.from(value, 'base64').toString('utf8');
  if (hasSeveralHosts(text)) return `Key ${key} of the Secret ${secretName} ${SEVERAL_HOSTS}.`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    !['postgres:', 'postgresql:'].includes(url.protocol) ||
    url.hostname === ''
  )
    return `Key ${key} of the Secret ${secretName} is not an address of the form postgresql://user:password@host:port/name.`;
  return undefined;
}
