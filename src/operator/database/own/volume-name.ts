import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { DATA_OF, DATABASE_OF, SET_ASIDE } from '../../../schema/platform/objects/labels.ts';
import { isReplacing } from '../../../schema/platform/backup/replacement.ts';
import { names } from '../../../schema/names.ts';
import { getDataOwner } from '../../objects/metadata.ts';
import type { WorkloadSpec } from '../../objects/workload-spec.ts';

const getClaimSuffix = ({ metadata }: DeploymentResource): string =>
  `-${names.database(metadata.name)}-0`;

const getFirstVolume = (deployment: DeploymentResource): string =>
  names.databaseVolume(getDataOwner(deployment));

/** Returns the name of the claim that is made for a set with a template of this name. */
const buildClaimName = (deployment: DeploymentResource, volume: string): string =>
  `${volume}${getClaimSuffix(deployment)}`;

/** Returns the name of the template that a set with this claim has. */
const parseVolumeName = (deployment: DeploymentResource, claim: string): string =>
  claim.slice(0, -getClaimSuffix(deployment).length);

const getTemplateName = (set: KubeObject | undefined): string | undefined =>
  (set?.spec as WorkloadSpec | undefined)?.volumeClaimTemplates?.[0]?.metadata.name;

/** Returns the volume of the database, as a set names it: by the status, else by the live set, else the first. */
export function resolveVolumeName(
  deployment: DeploymentResource,
  live: KubeObject | undefined,
): string {
  const known = deployment.status?.databaseVolume;
  return known === undefined
    ? (getTemplateName(live) ?? getFirstVolume(deployment))
    : parseVolumeName(deployment, known);
}

/** Returns the name of the claim that the database's one pod gets. */
export const claimName = (deployment: DeploymentResource, live?: KubeObject): string =>
  buildClaimName(deployment, resolveVolumeName(deployment, live));

/** Returns the name of the claim that a restore into a living deployment makes. */
export const buildNextClaimName = (deployment: DeploymentResource, requestedAt: string): string =>
  buildClaimName(deployment, names.databaseVolume(`${getDataOwner(deployment)}/${requestedAt}`));

/** Returns the annotation of a claim that is not the first of its data, and could not be found by its name. */
export const buildDataAnnotation = (
  deployment: DeploymentResource,
  volume: string,
): Record<string, string> =>
  volume === getFirstVolume(deployment) ? {} : { [DATA_OF]: getDataOwner(deployment) };

/** Returns true if the set can't be as it is: it has another volume, or pods of a former set still run. */
export function isSwitching(
  deployment: DeploymentResource,
  live: KubeObject | undefined,
  pods: readonly KubeObject[],
): boolean {
  if (deployment.status?.databaseVolume === undefined) return false;
  if (live !== undefined) return getTemplateName(live) !== resolveVolumeName(deployment, live);
  return isReplacing(deployment) && pods.length > 0;
}

/**
 * Returns true if former volumes may be there that the status does not name, because it was lost or the database was
 * taken over. The status that names the volume in use has looked for them.
 */
export function hasForgottenVolumes(
  deployment: DeploymentResource,
  live: KubeObject | undefined,
): boolean {
  const { metadata, spec, status } = deployment;
  if (live === undefined || status?.databaseVolume !== undefined) return false;
  const isTakenOver = metadata.annotations?.[DATABASE_OF] !== undefined;
  const isLater = getTemplateName(live) !== getFirstVolume(deployment);
  return isTakenOver || isLater || spec.database?.restore?.replaceRequestedAt !== undefined;
}

/** Returns the claims of a deployment's data among others. */
export const filterDataClaims = (
  deployment: DeploymentResource,
  claims: readonly KubeObject[],
): KubeObject[] =>
  claims.filter(
    ({ metadata }) =>
      metadata.name === buildClaimName(deployment, getFirstVolume(deployment)) ||
      (metadata.annotations?.[DATA_OF] === getDataOwner(deployment) &&
        metadata.name.endsWith(getClaimSuffix(deployment))),
  );

/** Returns the claim in use among those of the data, where neither status nor set tells it. */
export function findUsedClaim(
  deployment: DeploymentResource,
  claims: readonly KubeObject[],
): string | undefined {
  const used = filterDataClaims(deployment, claims).filter(
    ({ metadata }) => metadata.annotations?.[SET_ASIDE] === undefined,
  );
  const first = used.find(
    ({ metadata }) => metadata.name === buildClaimName(deployment, getFirstVolume(deployment)),
  );
  return (first ?? used.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0])
    ?.metadata.name;
}
