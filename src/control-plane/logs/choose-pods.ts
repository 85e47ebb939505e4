import type { KubeObject } from '../../kube/kube.ts';
import { COMPONENT, REVISION } from '../../schema/platform/objects/labels.ts';

/** Newest first. The name decides between pods of one second. */
const compareAge = ({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number =>
  Date.parse(b.creationTimestamp ?? '') - Date.parse(a.creationTimestamp ?? '') ||
  (a.name < b.name ? -1 : 1);

/**
 * Chooses the pods whose logs are read. Places are dealt in turn to the components of each revision, the newest
 * revision and the newest pods first, so that no group of many leaves another one out.
 */
export function choosePods<P extends KubeObject>(pods: readonly P[], most: number): P[] {
  const groups = Map.groupBy(
    pods,
    ({ metadata: { labels = {} } }) => `${labels[REVISION]} ${labels[COMPONENT]}`,
  );
  const hands = [...groups.values()].map((group) => group.toSorted(compareAge));
  const inOrder = hands.toSorted(([a], [b]) => compareNewest(a, b));
  const dealt = Array.from(
    { length: Math.max(0, ...hands.map(({ length }) => length)) },
    (_, round) => inOrder.flatMap((hand) => hand.slice(round, round + 1)),
  );
  return dealt.flat().slice(0, most);
}

/**
 * Revisions are numbered, also by pushes without leading zeros, so the newest has the last name by numbers. Of one
 * revision, pods that answer come before its queue.
 */
function compareNewest(a: KubeObject | undefined, b: KubeObject | undefined): number {
  const [one, other] = [a, b].map((pod) => pod?.metadata.labels ?? {});
  const byRevision = (other?.[REVISION] ?? '').localeCompare(one?.[REVISION] ?? '', 'en', {
    numeric: true,
  });
  return byRevision === 0
    ? (one?.[COMPONENT] ?? '').localeCompare(other?.[COMPONENT] ?? '')
    : byRevision;
}
