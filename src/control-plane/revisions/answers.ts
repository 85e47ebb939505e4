import { NotFound } from '../../errors.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/platform/custom-resources.ts';
import { orderOfRevision } from '../../schema/platform/revision-of.ts';
import type { Revision } from '../../schema/platform/revision.ts';
import type { ControlPlane } from '../control-plane.ts';
import { revisionAnswer } from './resource.ts';

type Revisions = Pick<ControlPlane, 'stored'>;

/** Returns the revision of a deployment that has this id. Throws `NotFound`. */
export async function findRevision(
  { stored }: Revisions,
  deployment: DeploymentResource,
  { id, signal }: { id: string; signal: AbortSignal },
): Promise<RevisionResource> {
  const revision = await stored.revision(deployment, id.toLowerCase(), signal);
  if (revision === undefined) throw new NotFound(`Revision ID ${id} not found.`);
  return revision;
}

/** Returns the revision that serves, as the deployment's status names it. */
export const activeRevision = ({ stored }: Revisions, deployment: DeploymentResource): RevisionResource | undefined =>
  stored.revisionsOf(deployment).find(({ metadata }) => metadata.name === deployment.status?.activeRevision);

const placeOf = (active: RevisionResource | undefined): number => (active === undefined ? Infinity : orderOfRevision(active));

/** Returns a function that turns a revision of this deployment into its REST answer. */
export function revisionAnswers(plane: Revisions, deployment: DeploymentResource): (revision: RevisionResource) => Revision {
  const isServed = deployment.status?.activeRevision !== undefined;
  const serving = isServed ? placeOf(activeRevision(plane, deployment)) : 0;
  return (revision) => revisionAnswer(revision, { deploymentId: plane.stored.idOf(deployment), serving });
}
