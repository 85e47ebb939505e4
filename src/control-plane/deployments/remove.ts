import type { CallContext, Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { readDeployment } from './lookup.ts';
import { buildJsonPatch } from '../json-patch.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedByPatch } from '../requested-by.ts';
import { Conflict, Problem } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';

/**
 * The things that are deleted with a deployment beyond its own objects. By default the tracing project stays, and the
 * data as its deletion policy says.
 */
export type Removal = { tracingProject: boolean; data: boolean; withoutBackup: boolean };

/**
 * Asks for a deployment's deletion. Its status is AWAITING_DELETE until the operator has removed its objects.
 */
export async function removeDeployment(
  plane: ControlPlane,
  id: string,
  call: CallContext,
  removal: Removal,
): Promise<void> {
  const deployment = await readDeployment(plane, id, call, 'removal');
  const { namespace, name, uid = '' } = deployment.metadata;
  await mark(plane, deployment, { removal, caller: call.caller });
  await plane.kube.delete(kinds.deployment, { namespace, name }, { uid }).catch(isGone);
  await plane.stored.refresh.deployment(deployment, call.signal);
}

/** Returns true if another deployment has the name by now, so that this one is gone. */
function isGone(error: unknown): boolean {
  if (error instanceof Conflict) return false;
  throw error;
}

/** Marks in the spec the further things that the operator is to delete. */
async function mark(
  { kube, stored }: ControlPlane,
  { metadata, spec }: DeploymentResource,
  { removal, caller }: { removal: Removal; caller: Caller },
): Promise<void> {
  const backup = spec.database?.backup;
  const wanted = {
    ...spec,
    ...(removal.withoutBackup &&
      backup?.beforeDeletion === true && {
        database: { ...spec.database, backup: { ...backup, beforeDeletion: false } },
      }),
    ...(removal.tracingProject && { deleteTracingProject: true }),
    ...(removal.data && { deletionPolicy: 'Delete' }),
  };
  const changes = buildJsonPatch(spec, wanted, '/spec');
  if (changes.length === 0) return;
  const guard = { op: 'test', path: '/metadata/uid', value: metadata.uid } as const;
  const ref = { namespace: metadata.namespace, name: metadata.name };
  stored.note.deployment(
    await kube.patchJson(kinds.deployment, ref, [
      guard,
      ...changes,
      ...buildRequestedByPatch(metadata, caller),
    ]),
  );
}

export type BulkOutcome = {
  deleted: string[];
  failed: { id: string; status: number; detail: string }[];
};

/** Removes each deployment on its own, so that a failure does not stop the others. */
export async function removeDeployments(
  plane: ControlPlane,
  ids: string[],
  call: CallContext,
  removal: Removal,
): Promise<BulkOutcome> {
  const outcome: BulkOutcome = { deleted: [], failed: [] };
  for (const id of new Set(ids)) {
    try {
      await callKube(() => removeDeployment(plane, id, call, removal));
      outcome.deleted.push(id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      outcome.failed.push({ id, status: error.status, detail: error.message });
    }
  }
  return outcome;
}
