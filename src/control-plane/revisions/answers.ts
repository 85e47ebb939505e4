import type { Stored } from '../stored/stored.ts';
import { NotFound } from '../../errors.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { computeRevisionOrder } from '../../schema/platform/resources/revision-of.ts';
import type { Revision } from '../../schema/platform/deployment/revision.ts';
import { toRevisionAnswer } from './resource.ts';

type Revisions = { stored: Stored };

/** Returns the revision of a deployment that has this id. Throws `NotFound`. */
export async function findRevision(
  { stored }: Revisions,
  deployment: DeploymentResource,
  { id, signal }: { id: string; signal: AbortSignal },
): Promise<RevisionResource> {
  const revision = await stored.findRevision(deployment, id.toLowerCase(), signal);
  if (revision === undefined) throw new NotFound(`Revision ID ${id} not found.`);
  return revision;
}

/** Returns the revision that serves, as the deployment's status names it. */
export const findActiveRevision = (
  { stored }: Revisions,
  deployment: DeploymentResource,
): RevisionResource | undefined =>
  stored
    .listRevisions(deployment)
    .find(({ metadata }) => metadata.name === deployment.status?.activeRevision);

const getOrder = (active: RevisionResource | undefined): number =>
  active === undefined ? Infinity : computeRevisionOrder(active);

/** Returns a function that turns a revision of this deployment into its REST answer. */
export function buildRevisionConverter(
  plane: Revisions,
  deployment: DeploymentResource,
): (revision: RevisionResource) => Revision {
  const isServed = deployment.status?.activeRevision !== undefined;
  const serving = isServed ? getOrder(findActiveRevision(plane, deployment)) : 0;
  return (revision) =>
    toRevisionAnswer(revision, { deploymentId: plane.stored.getId(deployment), serving });
}
