import { Conflict, Problem } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { Needs } from '../needs.ts';
import { readDeployment, type Asking } from './find.ts';

/** Asks for a deployment's end. The operator removes what belongs to it; until then it answers as AWAITING_DELETE. */
export async function removeDeployment(
  needs: Needs,
  id: string,
  asking: Asking,
  options: { deleteTracingProject: boolean },
): Promise<void> {
  const deployment = await readDeployment(needs, id, asking);
  const { namespace, name, uid = '' } = deployment.metadata;
  if (options.deleteTracingProject && deployment.spec.deleteTracingProject !== true) await markProject(needs, deployment);
  await needs.kube.delete(kinds.deployment, { namespace, name }, { uid }).catch(goneAlready);
  await needs.stored.refresh.deployment(deployment, asking.signal);
}

/** Another deployment has the name by now, so this one is gone. */
function goneAlready(error: unknown): boolean {
  if (error instanceof Conflict) return false;
  throw error;
}

async function markProject({ kube, stored }: Needs, { metadata, spec }: DeploymentResource): Promise<void> {
  const path = '/spec/deleteTracingProject';
  const op = spec.deleteTracingProject === undefined ? 'add' : 'replace';
  const guard = { op: 'test', path: '/metadata/uid', value: metadata.uid } as const;
  const marked = await kube.jsonPatch(kinds.deployment, { namespace: metadata.namespace, name: metadata.name }, [
    guard,
    { op, path, value: true },
  ]);
  stored.note.deployment(marked);
}

export type BulkOutcome = { deleted: string[]; failed: { id: string; status: number; detail: string }[] };

/** Each on its own: what fails does not stop the others. */
export async function removeDeployments(
  needs: Needs,
  ids: string[],
  asking: Asking,
  options: { deleteTracingProject: boolean },
): Promise<BulkOutcome> {
  const outcome: BulkOutcome = { deleted: [], failed: [] };
  for (const id of new Set(ids)) {
    try {
      await removeDeployment(needs, id, asking, options);
      outcome.deleted.push(id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      outcome.failed.push({ id, status: error.status, detail: error.message });
    }
  }
  return outcome;
}
