import type { KubeObject } from '../../kube/kube.ts';
import { hashJson } from '../../schema/canonical-json.ts';

/**
 * The annotation with the hash of the pod template as it was made. Anyone who may change the workload may write it, so
 * only the status counts.
 */
const TEMPLATE = 'gx.dev/template';
/** The annotation that `kubectl rollout restart` adds. A restart does not change the template otherwise. */
const RESTARTED = 'kubectl.kubernetes.io/restartedAt';

type PodTemplate = { metadata?: { annotations?: Record<string, string> } };
const getTemplate = ({ spec }: KubeObject): PodTemplate =>
  (spec as { template: PodTemplate }).template;

/** Returns the object with the hash of its own pod template. */
export function addTemplateHash(made: KubeObject): KubeObject {
  const annotations = { ...made.metadata.annotations, [TEMPLATE]: hashJson(getTemplate(made)) };
  return { ...made, metadata: { ...made.metadata, annotations } };
}

/**
 * Returns `made` with the pods of the live object if only the operator's version or settings differ, so that an upgrade
 * of the operator restarts no pod. Pods that somebody has changed since they were `seen` are made again, by today's
 * settings.
 */
export function settleTemplate(
  made: KubeObject,
  live: KubeObject | undefined,
  seen: string | undefined,
): KubeObject {
  const known = seen?.split('/')[0] ?? live?.metadata.annotations?.[TEMPLATE];
  if (live === undefined || known === undefined || known === made.metadata.annotations?.[TEMPLATE])
    return made;
  if (seen !== undefined && !isAsSeen(live, seen)) return made;
  return {
    ...made,
    metadata: {
      ...made.metadata,
      annotations: { ...made.metadata.annotations, [TEMPLATE]: known },
    },
    spec: { ...(made.spec as object), template: stripRestartRequest(live) },
  };
}

/**
 * Returns the hash of the pod template of a workload, as the operator last saw its own write stored. The status keeps
 * it, which nobody else may write. It stays the same as long as the pods do, and is undefined if nothing is known.
 */
export function deriveSeenTemplate(
  stored: KubeObject | undefined,
  before: string | undefined,
): string | undefined {
  if (stored === undefined) return before;
  const pods = [stored.metadata.annotations?.[TEMPLATE], hashContent(stored)].join('/');
  return before?.startsWith(`${pods}/`) === true ? before : `${pods}/${buildVersionKey(stored)}`;
}

/**
 * Returns true if the content is the same, or only a newer API server shows it differently. A write would have raised
 * the generation.
 */
const isAsSeen = (live: KubeObject, seen: string): boolean =>
  seen.includes(`/${hashContent(live)}/`) || seen.endsWith(`/${buildVersionKey(live)}`);

const buildVersionKey = ({ metadata }: KubeObject): string =>
  `${metadata.uid}/${metadata.generation}`;

const hashContent = (object: KubeObject): string => hashJson(stripRestartRequest(object));

/** Returns the pod template without the request to restart, which is no reason for a write. */
function stripRestartRequest(object: KubeObject): PodTemplate {
  const { metadata, ...pod } = getTemplate(object);
  const { [RESTARTED]: _, ...annotations } = metadata?.annotations ?? {};
  return { metadata: { ...metadata, annotations }, ...pod };
}
