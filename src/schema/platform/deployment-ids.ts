import type { DeploymentResource } from './custom-resources.ts';

type Identified = Pick<DeploymentResource, 'metadata' | 'spec'>;

const lower = (id: string | undefined): string => id?.toLowerCase() ?? '';

/** Returns the ids under which a deployment may be known, in lower case: its uid, and the id that its spec claims. */
export const idsOf = ({ metadata, spec }: Identified): string[] => [...new Set([lower(metadata.uid), lower(spec.id)])].filter(Boolean);

/**
 * Returns the deployment that keeps another one from the id that it claims: one whose uid that is, or an older one that
 * claims it too. `others` are those of the same tenant, so that no tenant takes an id from another.
 */
export function holderOfId<T extends Identified>(deployment: T, others: readonly T[]): T | undefined {
  const id = lower(deployment.spec.id);
  const uid = lower(deployment.metadata.uid);
  if (id === '' || id === uid) return undefined;
  const rivals = others.filter((other) => lower(other.metadata.uid) !== uid);
  return (
    rivals.find((other) => lower(other.metadata.uid) === id) ??
    rivals.find((other) => lower(other.spec.id) === id && orderOfCreation(other) < orderOfCreation(deployment))
  );
}

/** Returns the id of a deployment: the one that it claims, unless another has it; else its uid. */
export const idAmong = <T extends Identified>(deployment: T, others: readonly T[]): string =>
  deployment.spec.id === undefined || holderOfId(deployment, others) !== undefined
    ? lower(deployment.metadata.uid)
    : lower(deployment.spec.id);

/** Returns a sort key by creation, then uid, so that all processes agree. */
export const orderOfCreation = ({ metadata }: Pick<DeploymentResource, 'metadata'>): string =>
  `${metadata.creationTimestamp ?? ''}/${metadata.uid ?? ''}`;
