import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { hashOf } from '../../schema/revision-of.ts';
import { isEnded } from '../deployment/picks.ts';
import type { Wish } from './decide.ts';
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
    const replicas = wish[component];
    if (replicas === undefined) return [];
    const made = withTemplateHash(workload(revision, { component, replicas, secretName, databaseSecret }, settings));
    return [isEnded(revision) ? settledTemplate(made, live?.[component]) : made];
  });
}

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
