import { NotFound } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import type { Deployment } from '../../schema/deployment.ts';
import type { Revision } from '../../schema/revision.ts';
import { tenantOf } from '../../schema/tenancy.ts';
import type { Caller, Needs } from '../needs.ts';
import { toAnswer as revisionAnswer } from '../revisions/resource.ts';
import { deploymentId, toAnswer } from './resource.ts';

export type Asking = { caller: Caller; signal: AbortSignal };

const missing = (id: string): NotFound => new NotFound(`Deployment ID ${id} not found.`);

export const belongsTo = (needs: Needs, caller: Caller) => {
  const owners = needs.stored.owners();
  return (deployment: DeploymentResource): boolean => tenantOf(deployment, owners, needs.config.defaultTenantId) === caller.tenantId;
};

/** The caller's deployment of this id, as last seen. Another tenant's is not found. */
export async function findDeployment(needs: Needs, id: string, { caller, signal }: Asking): Promise<DeploymentResource> {
  const deployment = await needs.stored.deployment(id.toLowerCase(), signal);
  if (deployment === undefined || !belongsTo(needs, caller)(deployment)) throw missing(id);
  return deployment;
}

/** The same, read from the API server now: what a write starts from. */
export async function readDeployment(needs: Needs, id: string, asking: Asking): Promise<DeploymentResource> {
  const { metadata } = await findDeployment(needs, id, asking);
  const live = await needs.kube.find(kinds.deployment, { namespace: metadata.namespace, name: metadata.name }, asking.signal);
  if (live === undefined || live.metadata.uid !== metadata.uid) throw missing(id);
  return live;
}

export async function findRevision(
  needs: Needs,
  deployment: DeploymentResource,
  { id, signal }: { id: string; signal: AbortSignal },
): Promise<RevisionResource> {
  const revision = await needs.stored.revision(deployment, id.toLowerCase(), signal);
  if (revision === undefined) throw new NotFound(`Revision ID ${id} not found.`);
  return revision;
}

const activeIn = (revisions: RevisionResource[], { status }: DeploymentResource): RevisionResource | undefined =>
  revisions.find(({ metadata }) => metadata.name === status?.activeRevision);

/** How a deployment's revisions are answered. */
export function revisionAnswers(needs: Needs, deployment: DeploymentResource): (revision: RevisionResource) => Revision {
  const active = activeIn(needs.stored.revisionsOf(deployment), deployment);
  const serving = deployment.status?.activeRevision === undefined ? 0 : (active?.spec.number ?? Infinity);
  const around = { deploymentId: deploymentId(deployment), serving };
  return (revision) => revisionAnswer(revision, around);
}

/** One of them, by the ids of a path. */
export async function answerForRevision(
  needs: Needs,
  { deployment_id, revision_id }: { deployment_id: string; revision_id: string },
  asking: Asking,
): Promise<Revision> {
  const deployment = await findDeployment(needs, deployment_id, asking);
  return revisionAnswers(needs, deployment)(await findRevision(needs, deployment, { id: revision_id, signal: asking.signal }));
}

/** A deployment with all that its answer shows. */
export async function answerFor(needs: Needs, deployment: DeploymentResource, { caller, signal }: Asking): Promise<Deployment> {
  const owners = needs.stored.owners();
  const revisions = needs.stored.revisionsOf(deployment);
  return toAnswer(deployment, {
    tenantId: tenantOf(deployment, owners, needs.config.defaultTenantId),
    listener: owners.get(deployment.metadata.namespace ?? ''),
    latest: revisions[0],
    active: activeIn(revisions, deployment),
    secrets: await needs.secrets.read(deployment, { role: caller.role, signal }),
  });
}
