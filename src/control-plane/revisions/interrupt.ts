import { Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/platform/custom-resources.ts';
import { INTERRUPT } from '../../schema/platform/labels.ts';
import type { Caller } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { jsonPatchOf } from '../json-patch.ts';
import { requestedBy } from '../requested-by.ts';
import { hasEnded, isInterrupted, revisionStatus } from './resource.ts';

/** Asks the operator to give up a revision. A revision that has ended can't be interrupted. */
export function interrupt(
  { kube, stored, now }: Pick<ControlPlane, 'kube' | 'now' | 'stored'>,
  { metadata }: RevisionResource,
  caller: Caller,
): Promise<RevisionResource> {
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const read = async (): Promise<RevisionResource> => {
    const live = await kube.get(kinds.revision, ref);
    if (hasEnded(live)) throw new Rejected(`revision: has already ended as ${revisionStatus(live)}`);
    return live;
  };
  return retryConflicts(read, async (live) => {
    if (isInterrupted(live)) return stored.note.revision(live);
    const annotations = { ...live.metadata.annotations, ...requestedBy(caller), [INTERRUPT]: now().toISOString() };
    const guard = { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion } as const;
    const patch = [guard, ...jsonPatchOf(live.metadata.annotations, annotations, '/metadata/annotations')];
    return stored.note.revision(await kube.jsonPatch(kinds.revision, ref, patch));
  });
}
