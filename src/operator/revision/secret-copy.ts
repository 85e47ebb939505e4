import { buildNameTaken } from '../../kube/errors.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../schema/platform/objects/api-group.ts';
import { names, toLabelValue } from '../../schema/names.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import {
  DEPLOYMENT,
  MANAGED_BY,
  OPERATOR,
  REVISION,
  SECRETS_OF,
} from '../../schema/platform/objects/labels.ts';
import type { Environment } from './environment.ts';

/**
 * Makes the revision's own copy of a Secret that its user may still change. Returns the name of the Secret that its
 * pods get.
 */
export async function adoptSecret(
  { kube, writer }: OperatorDeps,
  revision: RevisionResource,
  { found, signal }: { found: Environment; signal: AbortSignal },
): Promise<string | undefined> {
  if (found.secret === 'ready') return found.name;
  if (found.secret !== 'to-copy') return undefined;
  const copy = buildSecretCopy(revision, found.source);
  const { namespace, name } = copy.metadata;
  if (
    !(await writer.create(copy, signal)) &&
    !isOf(revision, await kube.get(kinds.secret, { namespace, name }, signal))
  )
    throw buildNameTaken(`Secret ${name}`);
  return name;
}

const isOf = (revision: RevisionResource, { metadata }: KubeObject): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid === revision.metadata.uid) === true;

/** Returns a revision's own copy of a Secret that its user may still change, so that the deployed values stay. */
function buildSecretCopy(
  { metadata, spec }: RevisionResource,
  secret: { data?: Record<string, string> },
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: names.secretCopy(metadata.name),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: {
        [DEPLOYMENT]: toLabelValue(spec.deployment),
        [REVISION]: toLabelValue(metadata.name),
        [SECRETS_OF]: toLabelValue(spec.deployment),
        [MANAGED_BY]: OPERATOR,
      },
      annotations: { [DEPLOYMENT]: spec.deployment, [REVISION]: metadata.name },
      ownerReferences: [
        {
          apiVersion: API_VERSION,
          kind: 'Revision',
          name: metadata.name,
          uid: metadata.uid ?? '',
          controller: true,
        },
      ],
    },
    type: 'Opaque',
    immutable: true,
    data: secret.data ?? {},
  };
}
