import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { hashOf } from '../../schema/revision-of.ts';
import { isEnded } from '../deployment/picks.ts';
import { replicasOf } from '../workload-state.ts';
import type { Wish } from './decide.ts';
import { replicasAllowed } from './objects/sizes.ts';
import { workload } from './objects/workload.ts';

/** Hash of the pod template as it was made, on each workload. */
const TEMPLATE = 'gx.dev/template';

export type RevisionGiven = {
  wish: Wish;
  secretName: string | undefined;
  databaseSecret: string;
  live?: { api?: KubeObject | undefined; queue?: KubeObject | undefined };
};

/** The workloads a revision shall have, the api before the queue (pure). */
export function desiredRevision(revision: RevisionResource, given: RevisionGiven, settings: OperatorSettings): KubeObject[] {
  const { wish, secretName, databaseSecret, live } = given;
  return (['api', 'queue'] as const).flatMap((component) => {
    const wanted = wish[component];
    if (wanted === undefined) return [];
    const limit = wanted === 0 ? 0 : replicasAllowed(revision, component, settings);
    const replicas = isScaledByOthers(live?.[component], { wanted, limit }) ? undefined : wanted;
    const made = withTemplateHash(workload(revision, { component, replicas, secretName, databaseSecret }, settings));
    return [isEnded(revision) ? settledTemplate(made, live?.[component]) : made];
  });
}

/**
 * Somebody has changed the size within its range, and so owns the field. At the wanted size it is still applied: a field that its only
 * owner lets go falls back to 1.
 */
const isScaledByOthers = (live: KubeObject | undefined, { wanted, limit }: { wanted: number; limit: number }): boolean =>
  live !== undefined && replicasOf(live) > wanted && replicasOf(live) <= limit;

type WorkloadSpec = { template: object };

function withTemplateHash(made: KubeObject): KubeObject {
  const annotations = { ...made.metadata.annotations, [TEMPLATE]: hashOf((made.spec as WorkloadSpec).template) };
  return { ...made, metadata: { ...made.metadata, annotations } };
}

/** A revision that is out keeps its pods as they are when another version or setting of the operator would make them otherwise. */
function settledTemplate(made: KubeObject, live: KubeObject | undefined): KubeObject {
  const known = live?.metadata.annotations?.[TEMPLATE];
  if (live === undefined || known === undefined || known === made.metadata.annotations?.[TEMPLATE]) return made;
  const { template } = live.spec as WorkloadSpec;
  return {
    ...made,
    metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, [TEMPLATE]: known } },
    spec: { ...(made.spec as object), template },
  };
}
