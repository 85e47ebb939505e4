import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import {
  PASSWORD_LOST,
  PASSWORD_NUMBER,
  PASSWORD_REQUESTED,
} from '../../../../schema/platform/objects/labels.ts';
import { names } from '../../../../schema/names.ts';
import { getDataOwner } from '../../../objects/metadata.ts';

/**
 * A password of a managed database. There is usually one, and there are two while it is being changed. Their Secrets
 * live as long as the volume and hold their own numbers, so that a lost status locks nobody out.
 */
export type Credential = {
  secret: string;
  number: number;
  requestedAt?: string;
  /** True if its Secret was deleted, and another one without a password replaces it. */
  isLost?: true;
};

/** Returns the credentials of this deployment's data among Secrets, oldest first. */
export function filterCredentials(
  secrets: KubeObject[],
  deployment: DeploymentResource,
): Credential[] {
  const owner = getDataOwner(deployment);
  return secrets
    .map(({ metadata }) => {
      const requestedAt = metadata.annotations?.[PASSWORD_REQUESTED];
      const number = Number(metadata.annotations?.[PASSWORD_NUMBER] ?? 0);
      const isLost = metadata.annotations?.[PASSWORD_LOST] !== undefined;
      return {
        secret: metadata.name,
        number,
        ...(requestedAt !== undefined && { requestedAt }),
        ...(isLost && { isLost }),
      };
    })
    .filter(
      ({ secret, number }) =>
        secret === names.databaseSecret(deployment.metadata.name, owner, number),
    )
    .toSorted((a, b) => a.number - b.number);
}
