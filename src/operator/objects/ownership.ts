import { Unavailable } from '../../errors.ts';
import type { JsonPatch } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { ObjectMeta } from '../../schema/platform/objects/object-meta.ts';
import { MANAGED_BY, OPERATOR } from '../../schema/platform/objects/labels.ts';
import { buildOwnedMetadata } from './metadata.ts';

/** Returns a step of a JSON patch that sets the value, whether or not there was one. */
export const buildSetStep = (path: string, value: unknown): JsonPatch[number] => ({
  op: 'add',
  path,
  value,
});

/** Returns the patch that takes over a Secret of a deployment which a backup restored without its owner. */
export function buildTakeOverPatch(
  deployment: DeploymentResource,
  live: { metadata: ObjectMeta } | undefined,
): JsonPatch {
  if (live === undefined) return [];
  const { ownerReferences: owners = [], labels, name } = live.metadata;
  if (owners.some(({ uid }) => uid === deployment.metadata.uid)) return [];
  if (owners.length === 0 && labels?.[MANAGED_BY] === OPERATOR)
    return [
      buildSetStep(
        '/metadata/ownerReferences',
        buildOwnedMetadata(deployment, 'agent', name).ownerReferences,
      ),
    ];
  throw new Unavailable(
    `Secret ${name} belongs to an earlier deployment that is still being deleted, or to somebody else.`,
  );
}
