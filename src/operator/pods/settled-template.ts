import type { KubeObject } from '../../kube/kube.ts';
import { hashOf } from '../../schema/revision-of.ts';

/** Hash of the pod template as it was made, on each workload and database. Whoever may change those may write it: a status knows better. */
const TEMPLATE = 'gx.dev/template';
/** What `kubectl rollout restart` adds: a restart is no change of what the pods are. */
const RESTARTED = 'kubectl.kubernetes.io/restartedAt';

type PodTemplate = { metadata?: { annotations?: Record<string, string> } };
type WorkloadSpec = { template: PodTemplate };

const templateOf = ({ spec }: KubeObject): PodTemplate => (spec as WorkloadSpec).template;

/** The object with the hash of its own pod template. */
export function withTemplateHash(made: KubeObject): KubeObject {
  const annotations = { ...made.metadata.annotations, [TEMPLATE]: hashOf(templateOf(made)) };
  return { ...made, metadata: { ...made.metadata, annotations } };
}

/**
 * `made`, but with the pods of the live object where another version or setting of the operator would make them otherwise: an upgrade of
 * the operator restarts no pod. Pods that somebody has changed since they were `seen` are made anew, by today's.
 */
export function settledTemplate(made: KubeObject, live: KubeObject | undefined, seen: string | undefined): KubeObject {
  const known = seen?.split('/')[0] ?? live?.metadata.annotations?.[TEMPLATE];
  if (live === undefined || known === undefined || known === made.metadata.annotations?.[TEMPLATE]) return made;
  if (seen !== undefined && !isAsSeen(live, seen)) return made;
  return {
    ...made,
    metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, [TEMPLATE]: known } },
    spec: { ...(made.spec as object), template: unrestarted(live) },
  };
}

/**
 * What the pods of a workload are, as the operator last saw its own write stored: to be kept in a status, which nobody else may write. The
 * same word for as long as they are the same; undefined when nothing is known.
 */
export function seenTemplate(stored: KubeObject | undefined, before: string | undefined): string | undefined {
  if (stored === undefined) return before;
  const pods = [stored.metadata.annotations?.[TEMPLATE], contentOf(stored)].join('/');
  return before?.startsWith(`${pods}/`) === true ? before : `${pods}/${versionOf(stored)}`;
}

/** The same content, or a content that only a newer API server reads otherwise: a write would have moved the generation. */
const isAsSeen = (live: KubeObject, seen: string): boolean => seen.includes(`/${contentOf(live)}/`) || seen.endsWith(`/${versionOf(live)}`);

const versionOf = ({ metadata }: KubeObject): string => `${metadata.uid}/${metadata.generation}`;

const contentOf = (object: KubeObject): string => hashOf(unrestarted(object));

/** The pods without the word that they be restarted: it is its author's, and no reason for a write. */
function unrestarted(object: KubeObject): PodTemplate {
  const { metadata, ...pod } = templateOf(object);
  const { [RESTARTED]: _, ...annotations } = metadata?.annotations ?? {};
  return { metadata: { ...metadata, annotations }, ...pod };
}
