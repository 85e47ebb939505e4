import { Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { INTERRUPT } from '../../schema/labels.ts';
import type { Needs } from '../needs.ts';
import { jsonPatchOf } from '../deployments/json-patch.ts';
import { attempted } from '../deployments/patch.ts';
import { hasEnded, isInterrupted, statusOf } from './resource.ts';

/** Asks the operator to give a revision up. One that has ended can't be interrupted. */
export function interrupt(needs: Needs, { metadata }: RevisionResource): Promise<RevisionResource> {
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const read = async (): Promise<RevisionResource> => {
    const live = await needs.kube.get(kinds.revision, ref);
    if (hasEnded(live)) throw new Rejected(`revision: has already ended as ${statusOf(live)}`);
    return live;
  };
  return attempted(read, async (live) => {
    if (isInterrupted(live)) return needs.stored.note.revision(live);
    const annotations = { ...live.metadata.annotations, [INTERRUPT]: needs.now().toISOString() };
    const guard = { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion } as const;
    const patch = [guard, ...jsonPatchOf(live.metadata.annotations, annotations, '/metadata/annotations')];
    return needs.stored.note.revision(await needs.kube.jsonPatch(kinds.revision, ref, patch));
  });
}
