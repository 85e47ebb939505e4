import { Conflict } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { readDeployment, findRevision, type Asking } from '../deployments/find.ts';
import { jsonPatchOf } from '../deployments/json-patch.ts';
import { attempted, laterThan } from '../deployments/patch.ts';
import { refusing } from '../kube-refusal.ts';
import type { Needs } from '../needs.ts';
import { makeRevision } from './make.ts';

/** Asks for a revision's template again, with the secrets and sizes it had: redeploy and rollback are the same. */
export function redeploy(needs: Needs, ids: { deployment: string; revision: string }, asking: Asking): Promise<DeploymentResource> {
  const read = async () => {
    const deployment = await readDeployment(needs, ids.deployment, asking);
    if (deployment.metadata.deletionTimestamp !== undefined) throw new Conflict('The deployment is being deleted.');
    return { deployment, revision: await findRevision(needs, deployment, { id: ids.revision, signal: asking.signal }) };
  };
  return attempted(read, ({ deployment, revision }) => write(needs, deployment, revision));
}

async function write(needs: Needs, deployment: DeploymentResource, revision: RevisionResource): Promise<DeploymentResource> {
  const { metadata, spec } = deployment;
  const wanted = {
    ...spec,
    template: revision.spec.template,
    requestedAt: laterThan(spec.requestedAt, needs.now()),
    rollbackOf: revision.metadata.name,
  };
  const guard = { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion } as const;
  const patch = [guard, ...jsonPatchOf(spec, wanted, '/spec')];
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const stored = await refusing(() => needs.kube.jsonPatch(kinds.deployment, ref, patch));
  await makeRevision(needs, stored);
  return needs.stored.note.deployment(stored);
}
