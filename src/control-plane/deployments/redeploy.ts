import type { CallContext } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { readDeployment } from './lookup.ts';
import { laterThan } from './patch.ts';
import { jsonPatchOf } from '../json-patch.ts';
import { refusing } from '../kube-refusal.ts';
import { findRevision } from '../revisions/answers.ts';
import { makeRevision } from '../revisions/make.ts';
import { Conflict } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';

/** Asks for a revision's template again, with the secrets and sizes it had. Redeploy and rollback are the same. */
export function redeploy(
  plane: ControlPlane,
  ids: { deployment: string; revision: string },
  call: CallContext,
): Promise<DeploymentResource> {
  const read = async () => {
    const deployment = await readDeployment(plane, ids.deployment, call);
    if (deployment.metadata.deletionTimestamp !== undefined) throw new Conflict('The deployment is being deleted.');
    return { deployment, revision: await findRevision(plane, deployment, { id: ids.revision, signal: call.signal }) };
  };
  return retryConflicts(read, ({ deployment, revision }) => write(plane, deployment, revision));
}

async function write(plane: ControlPlane, deployment: DeploymentResource, revision: RevisionResource): Promise<DeploymentResource> {
  const { metadata, spec } = deployment;
  const wanted = {
    ...spec,
    template: revision.spec.template,
    requestedAt: laterThan(spec.requestedAt, plane.now()),
    rollbackOf: revision.metadata.name,
  };
  const guard = { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion } as const;
  const patch = [guard, ...jsonPatchOf(spec, wanted, '/spec')];
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const stored = await refusing(() => plane.kube.jsonPatch(kinds.deployment, ref, patch));
  await makeRevision(plane, stored);
  return plane.stored.note.deployment(stored);
}
