import { Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/platform/custom-resources.ts';
import { RELEASE } from '../../schema/platform/labels.ts';
import type { Caller } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { jsonPatchOf } from '../json-patch.ts';
import { requestedBy } from '../requested-by.ts';

type Of = { deployment: DeploymentResource; revision: RevisionResource };

/** Asks the operator to let the work of a replaced revision go. Only one that keeps some can be asked. */
export function release(
  { kube, stored, now }: Pick<ControlPlane, 'kube' | 'now' | 'stored'>,
  { deployment, revision: { metadata } }: Of,
  caller: Caller,
): Promise<RevisionResource> {
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const keeps = deployment.status?.rollout?.draining.some(({ revision }) => revision === metadata.name) === true;
  if (!keeps) throw new Rejected('revision: keeps no work, because it serves, has not been replaced, or has none left');
  return retryConflicts(
    () => kube.get(kinds.revision, ref),
    async (live) => {
      if (live.metadata.annotations?.[RELEASE] !== undefined) return stored.note.revision(live);
      const annotations = { ...live.metadata.annotations, ...requestedBy(caller), [RELEASE]: now().toISOString() };
      const guard = { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion } as const;
      const patch = [guard, ...jsonPatchOf(live.metadata.annotations, annotations, '/metadata/annotations')];
      return stored.note.revision(await kube.jsonPatch(kinds.revision, ref, patch));
    },
  );
}
