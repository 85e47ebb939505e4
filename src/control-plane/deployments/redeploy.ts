import type { CallContext, Caller } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { listTenantNamespaces, readDeployment } from './lookup.ts';
import { deriveLaterTime } from './later-time.ts';
import { toWanted } from './resource.ts';
import { requireCluster, requireRules } from './rule-table.ts';
import { buildJsonPatch } from '../json-patch.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedByPatch } from '../requested-by.ts';
import { findRevision } from '../revisions/answers.ts';
import { makeRevision } from '../revisions/make.ts';
import { Conflict } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';

/** Asks for a revision's template again, with the secrets and sizes it had. Redeploy and rollback are the same. */
export function deployAgain(
  plane: ControlPlane,
  ids: { deployment: string; revision: string },
  call: CallContext,
): Promise<DeploymentResource> {
  const read = async () => {
    const deployment = await readDeployment(plane, ids.deployment, call);
    if (deployment.metadata.deletionTimestamp !== undefined)
      throw new Conflict('The deployment is being deleted.');
    const revision = await findRevision(plane, deployment, {
      id: ids.revision,
      signal: call.signal,
    });
    const fault = plane.stored.findRevisionFault(revision);
    if (fault !== undefined)
      throw new Conflict(`Revision ID ${ids.revision} can't be repeated: ${fault.message}`);
    await checkAllowed(
      plane,
      { ...deployment, spec: { ...deployment.spec, template: revision.spec.template } },
      call,
    );
    return { deployment, revision };
  };
  return retryConflicts(read, (step) => write(plane, step, call.caller));
}

/** Throws unless REST users may start pods of this template, which kubectl may have written. */
async function checkAllowed(
  plane: ControlPlane,
  resource: DeploymentResource,
  call: CallContext,
): Promise<void> {
  const change = { kind: 'repeat', wanted: toWanted(resource), startsPods: true } as const;
  requireRules(change, {
    config: plane.config,
    namespaces: listTenantNamespaces(plane, call.caller),
    now: new Date(),
  });
  const { name, namespace = '' } = resource.metadata;
  await requireCluster(plane, change, { name, namespace, ...call });
}

async function write(
  plane: ControlPlane,
  { deployment, revision }: { deployment: DeploymentResource; revision: RevisionResource },
  caller: Caller,
): Promise<DeploymentResource> {
  const { metadata, spec } = deployment;
  const wanted = {
    ...spec,
    template: revision.spec.template,
    requestedAt: deriveLaterTime(spec.requestedAt, plane.now()),
    rollbackOf: revision.metadata.name,
  };
  const guard = {
    op: 'replace',
    path: '/metadata/resourceVersion',
    value: metadata.resourceVersion,
  } as const;
  const patch = [
    guard,
    ...buildJsonPatch(spec, wanted, '/spec'),
    ...buildRequestedByPatch(metadata, caller),
  ];
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const stored = await callKube(() => plane.kube.patchJson(kinds.deployment, ref, patch));
  await makeRevision(plane, stored, caller);
  return plane.stored.note.deployment(stored);
}
