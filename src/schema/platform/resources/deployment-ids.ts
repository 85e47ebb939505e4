import type { ObjectMeta } from '../objects/object-meta.ts';
import type { DeploymentResource } from './custom-resources.ts';

const toLowerId = (id: string | undefined): string => id?.toLowerCase() ?? '';

/** Returns the ids under which a deployment may be known, in lower case: its uid, and the id that its spec claims. */
export const listDeploymentIds = ({ metadata, spec }: DeploymentResource): string[] =>
  [...new Set([toLowerId(metadata.uid), toLowerId(spec.id)])].filter(Boolean);

/**
 * Returns the deployment that keeps another one from the id that it claims: one whose uid that is, or an older one that
 * claims it too. `others` are those of the same tenant, so that no tenant takes an id from another.
 */
export function findIdHolder<T extends DeploymentResource>(
  deployment: T,
  others: readonly T[],
): T | undefined {
  const id = toLowerId(deployment.spec.id);
  const uid = toLowerId(deployment.metadata.uid);
  if (id === '' || id === uid) return undefined;
  const rivals = others.filter((other) => toLowerId(other.metadata.uid) !== uid);
  return (
    rivals.find((other) => toLowerId(other.metadata.uid) === id) ??
    rivals.find(
      (other) =>
        toLowerId(other.spec.id) === id && buildCreationKey(other) < buildCreationKey(deployment),
    )
  );
}

/** Returns the id of a deployment: the one that it claims, unless another has it; else its uid. */
export const chooseDeploymentId = <T extends DeploymentResource>(
  deployment: T,
  others: readonly T[],
): string =>
  deployment.spec.id === undefined || findIdHolder(deployment, others) !== undefined
    ? toLowerId(deployment.metadata.uid)
    : toLowerId(deployment.spec.id);

/** Returns a sort key by creation, then uid, so that all processes agree. */
export const buildCreationKey = ({ metadata }: { metadata: ObjectMeta }): string =>
  `${metadata.creationTimestamp ?? ''}/${metadata.uid ?? ''}`;
