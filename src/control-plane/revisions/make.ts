import { Conflict } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { revisionOf } from '../../schema/revision-of.ts';
import type { Needs } from '../needs.ts';

/** The revision that a stored deployment asks for. The operator makes the same object: whoever comes second finds it there. */
export async function makeRevision({ kube, stored }: Needs, deployment: DeploymentResource): Promise<RevisionResource> {
  const wanted = revisionOf(deployment);
  const { namespace, name } = wanted.metadata;
  try {
    return stored.note.revision(await kube.create(kinds.revision, wanted));
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    const there = await kube.get(kinds.revision, { namespace, name });
    if (there.spec.deploymentUid !== wanted.spec.deploymentUid || there.spec.hash !== wanted.spec.hash) throw error;
    return stored.note.revision(there);
  }
}
