import type { KubeObject } from '../kube/kube.ts';
import { hashOf } from '../schema/revision-of.ts';

/** Hash of the pod template as it was made, on each workload and database. */
const TEMPLATE = 'gx.dev/template';

type WorkloadSpec = { template: object };

/** The object with the hash of its own pod template (pure). */
export function withTemplateHash(made: KubeObject): KubeObject {
  const annotations = { ...made.metadata.annotations, [TEMPLATE]: hashOf((made.spec as WorkloadSpec).template) };
  return { ...made, metadata: { ...made.metadata, annotations } };
}

/**
 * `made`, but with the pods of the live object where another version or setting of the operator would make them otherwise: an upgrade of
 * the operator restarts no pod (pure).
 */
export function settledTemplate(made: KubeObject, live: KubeObject | undefined): KubeObject {
  const known = live?.metadata.annotations?.[TEMPLATE];
  if (live === undefined || known === undefined || known === made.metadata.annotations?.[TEMPLATE]) return made;
  const { template } = live.spec as WorkloadSpec;
  return {
    ...made,
    metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, [TEMPLATE]: known } },
    spec: { ...(made.spec as object), template },
  };
}
