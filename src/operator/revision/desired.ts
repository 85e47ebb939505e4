import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { hashOf } from '../../schema/revision-of.ts';
import { DATABASE_ADDRESS } from '../../schema/labels.ts';
import { stampOf, type DatabaseAddress } from '../deployment/address.ts';
import { isEnded } from '../deployment/picks.ts';
import { replicasOf } from '../workload-state.ts';
import type { Wish } from './decide.ts';
import { addressVariable, AGENT } from './objects/main-container.ts';
import { replicasAllowed } from './objects/sizes.ts';
import { workload } from './objects/workload.ts';

/** Hash of the pod template as it was made, on each workload. */
const TEMPLATE = 'gx.dev/template';

export type RevisionGiven = {
  wish: Wish;
  secretName: string | undefined;
  address: DatabaseAddress | undefined;
  live?: { api?: KubeObject | undefined; queue?: KubeObject | undefined };
};

/** The workloads a revision shall have, the api before the queue (pure). */
export function desiredRevision(revision: RevisionResource, given: RevisionGiven, settings: OperatorSettings): KubeObject[] {
  const { wish, secretName, address, live } = given;
  // Without an address nothing has been started, or the deployment is about to tell it again.
  if (address === undefined) return [];
  return (['api', 'queue'] as const).flatMap((component) => {
    const wanted = wish[component];
    if (wanted === undefined) return [];
    const limit = wanted === 0 ? 0 : replicasAllowed(revision, component, settings);
    const replicas = isScaledByOthers(live?.[component], { wanted, limit }) ? undefined : wanted;
    const made = withTemplateHash(workload(revision, { component, replicas, secretName, address }, settings));
    return [isEnded(revision) ? settledTemplate(made, { live: live?.[component], address }) : made];
  });
}

/**
 * Somebody has changed the size within its range, and so owns the field. At the wanted size it is still applied: a field that its only
 * owner lets go falls back to 1.
 */
const isScaledByOthers = (live: KubeObject | undefined, { wanted, limit }: { wanted: number; limit: number }): boolean =>
  live !== undefined && replicasOf(live) > wanted && replicasOf(live) <= limit;

type WorkloadSpec = { template: PodTemplate };

function withTemplateHash(made: KubeObject): KubeObject {
  const annotations = { ...made.metadata.annotations, [TEMPLATE]: hashOf((made.spec as WorkloadSpec).template) };
  return { ...made, metadata: { ...made.metadata, annotations } };
}

type Settled = { live: KubeObject | undefined; address: DatabaseAddress };

/**
 * A revision that is out keeps its pods as they are when another version or setting of the operator would make them otherwise. Only the
 * database's address is not theirs to keep: with another one they are replaced in turn.
 */
function settledTemplate(made: KubeObject, { live, address }: Settled): KubeObject {
  const known = live?.metadata.annotations?.[TEMPLATE];
  if (live === undefined || known === undefined || known === made.metadata.annotations?.[TEMPLATE]) return made;
  const { template } = live.spec as WorkloadSpec;
  return {
    ...made,
    metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, [TEMPLATE]: known } },
    spec: { ...(made.spec as object), template: readdressed(template, address) },
  };
}

type Variable = { name: string };
type PodTemplate = {
  metadata?: { annotations?: Record<string, string> };
  spec: { containers: { name: string; env?: Variable[] }[] };
};

/** A pod template as it is, with the database at this address. */
function readdressed(template: PodTemplate, address: DatabaseAddress): PodTemplate {
  const { metadata, spec } = template;
  const stamp = stampOf(address);
  if (metadata?.annotations?.[DATABASE_ADDRESS] === stamp) return template;
  const variable = addressVariable(address);
  const containers = spec.containers.map((container) =>
    container.name === AGENT
      ? { ...container, env: (container.env ?? []).map((known) => (known.name === variable.name ? variable : known)) }
      : container,
  );
  return {
    ...template,
    metadata: { ...metadata, annotations: { ...metadata?.annotations, [DATABASE_ADDRESS]: stamp } },
    spec: { ...spec, containers },
  };
}
