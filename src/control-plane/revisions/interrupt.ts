import { Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { INTERRUPT } from '../../schema/labels.ts';
import type { Needs } from '../needs.ts';
import { hasEnded, isInterrupted, statusOf } from './resource.ts';

/** Asks the operator to give a revision up. One that has ended can't be interrupted. */
export async function interrupt(needs: Needs, revision: RevisionResource): Promise<RevisionResource> {
  const { metadata } = revision;
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const live = await needs.kube.get(kinds.revision, ref);
  if (hasEnded(live)) throw new Rejected(`revision: has already ended as ${statusOf(live)}`);
  if (isInterrupted(live)) return needs.stored.note.revision(live);
  const key = INTERRUPT.replaceAll('/', '~1');
  const value = needs.now().toISOString();
  const uid = { op: 'test', path: '/metadata/uid', value: metadata.uid } as const;
  const annotate = live.metadata.annotations
    ? ({ op: 'add', path: `/metadata/annotations/${key}`, value } as const)
    : ({ op: 'add', path: '/metadata/annotations', value: { [INTERRUPT]: value } } as const);
  return needs.stored.note.revision(await needs.kube.jsonPatch(kinds.revision, ref, [uid, annotate]));
}
