import type { KubeObject } from '../../kube/kube.ts';
import { hashOf } from '../../schema/canonical-json.ts';

/**
 * The annotation with the hash of the pod template as it was made. Anyone who may change the workload may write it, so
 * only the status counts.
 */
const TEMPLATE = 'gx.dev/template';
/** The annotation that `kubectl rollout restart` adds. A restart does not change the template otherwise. */
const RESTARTED = 'kubectl.kubernetes.io/restartedAt';

type PodTemplate = { metadata?: { annotations?: Record<string, string> } };
const templateOf = ({ spec }: KubeObject): PodTemplate => (spec as { template: PodTemplate }).template;

/** Returns the object with the hash of its own pod template. */
export function withTemplateHash(made: KubeObject): KubeObject {
  const annotations = { ...made.metadata.annotations, [TEMPLATE]: hashOf(templateOf(made)) };
  return { ...made, metadata: { ...made.metadata, annotations } };
}

/**
 * Returns `made` with the pods of the live object if only the operator's version or settings differ, so that an upgrade
 * of the operator restarts no pod. Pods that somebody has changed since they were `seen` are made again, by today's
 * settings.
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
 * Returns the hash of the pod template of a workload, as the operator last saw its own write stored. The status keeps
 * it, which nobody else may write. It stays the same as long as the pods do, and is undefined if nothing is known.
 */
export function seenTemplate(stored: KubeObject | undefined, before: string | undefined): string | undefined {
  if (stored === undefined) return before;
  const pods = [stored.metadata.annotations?.[TEMPLATE], contentOf(stored)].join('/');
  return before?.startsWith(`${pods}/`) === true ? before : `${pods}/${versionOf(stored)}`;
}

/**
 * Returns true if the content is the same, or only a newer API server shows it differently. A write would have raised
 * the generation.
 */
const isAsSeen = (live: KubeObject, seen: string): boolean => seen.includes(`/${contentOf(live)}/`) || seen.endsWith(`/${versionOf(live)}`);

const versionOf = ({ metadata }: KubeObject): string => `${metadata.uid}/${metadata.generation}`;

const contentOf = (object: KubeObject): string => hashOf(unrestarted(object));

/** Returns the pod template without the request to restart, which is no reason for a write. */
function unrestarted(object: KubeObject): PodTemplate {
  const { metadata, ...pod } = templateOf(object);
  const { [RESTARTED]: _, ...annotations } = metadata?.annotations ?? {};
  return { metadata: { ...metadata, annotations }, ...pod };
}
