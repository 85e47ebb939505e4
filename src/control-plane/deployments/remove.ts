import { Conflict, Problem } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { refusing } from '../kube-refusal.ts';
import type { Needs } from '../needs.ts';
import { readDeployment, type Asking } from './find.ts';
import { jsonPatchOf } from './json-patch.ts';

/** What goes with a deployment beyond its own objects; else the tracing project stays, and its data as its deletion policy says. */
export type Removal = { tracingProject: boolean; data: boolean };

/** Asks for a deployment's end. The operator removes what belongs to it; until then it answers as AWAITING_DELETE. */
export async function removeDeployment(needs: Needs, id: string, asking: Asking, removal: Removal): Promise<void> {
  const deployment = await readDeployment(needs, id, asking);
  const { namespace, name, uid = '' } = deployment.metadata;
  await mark(needs, deployment, removal);
  await needs.kube.delete(kinds.deployment, { namespace, name }, { uid }).catch(goneAlready);
  await needs.stored.refresh.deployment(deployment, asking.signal);
}

/** Another deployment has the name by now, so this one is gone. */
function goneAlready(error: unknown): boolean {
  if (error instanceof Conflict) return false;
  throw error;
}

/** The operator reads from the spec what else is to go. */
async function mark({ kube, stored }: Needs, { metadata, spec }: DeploymentResource, removal: Removal): Promise<void> {
  const wanted = {
    ...spec,
    ...(removal.tracingProject && { deleteTracingProject: true }),
    ...(removal.data && { deletionPolicy: 'Delete' }),
  };
  const changes = jsonPatchOf(spec, wanted, '/spec');
  if (changes.length === 0) return;
  const guard = { op: 'test', path: '/metadata/uid', value: metadata.uid } as const;
  const ref = { namespace: metadata.namespace, name: metadata.name };
  stored.note.deployment(await kube.jsonPatch(kinds.deployment, ref, [guard, ...changes]));
}

export type BulkOutcome = { deleted: string[]; failed: { id: string; status: number; detail: string }[] };

/** Each on its own: what fails does not stop the others. */
export async function removeDeployments(needs: Needs, ids: string[], asking: Asking, removal: Removal): Promise<BulkOutcome> {
  const outcome: BulkOutcome = { deleted: [], failed: [] };
  for (const id of new Set(ids)) {
    try {
      await refusing(() => removeDeployment(needs, id, asking, removal));
      outcome.deleted.push(id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      outcome.failed.push({ id, status: error.status, detail: error.message });
    }
  }
  return outcome;
}
