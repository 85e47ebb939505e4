import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { Deployment } from '../../schema/platform/deployment/deployment.ts';
import type { Revision } from '../../schema/platform/deployment/revision.ts';
import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { findDeployment } from './lookup.ts';
import { toDeploymentAnswer } from './resource.ts';
import { findActiveRevision, findRevision, buildRevisionConverter } from '../revisions/answers.ts';

/**
 * Returns a deployment as REST answers it, with its revisions and its listener. A write key also gets the values of its
 * secrets.
 */
export async function answerForDeployment(
  plane: ControlPlane,
  deployment: DeploymentResource,
  { caller, signal }: CallContext,
): Promise<Deployment> {
  const owners = plane.stored.getOwners();
  const revisions = plane.stored.listRevisions(deployment);
  return toDeploymentAnswer(deployment, {
    id: plane.stored.getId(deployment),
    tenantId: caller.tenantId,
    listener: owners.get(deployment.metadata.namespace ?? ''),
    latest: revisions[0],
    revisions,
    active: findActiveRevision(plane, deployment),
    secrets: await plane.secrets.read(deployment, { role: caller.role, signal }),
  });
}

/** Returns a revision as REST answers it, by the ids of a path. Throws `NotFound`. */
export async function answerForRevision(
  plane: ControlPlane,
  { deployment_id, revision_id }: { deployment_id: string; revision_id: string },
  call: CallContext,
): Promise<Revision> {
  const deployment = await findDeployment(plane, deployment_id, call);
  return buildRevisionConverter(
    plane,
    deployment,
  )(await findRevision(plane, deployment, { id: revision_id, signal: call.signal }));
}
