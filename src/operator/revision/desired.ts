import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { BEGAN_WITH, DATABASE_ADDRESS } from '../../schema/platform/objects/labels.ts';
import type { BudgetsSpec } from '../../schema/platform/spec/budget-spec.ts';
import type { Pin } from '../../schema/platform/rollout/pins.ts';
import { buildAddressStamp, type DatabaseAddress } from '../database/address.ts';
import { resolveConnections } from '../rollout/connections.ts';
import {
  resolveMaxReplicas,
  resolveWantedReplicas,
  type WorkloadComponent,
} from '../rollout/replicas.ts';
import { findRevisionImage, isEnded } from '../rollout/revisions.ts';
import { settleTemplate, addTemplateHash } from '../pods/settled-template.ts';
import { getReplicas } from '../pods/workload-state.ts';
import type { Wish } from './decision.ts';
import { replaceDatabaseAddress } from './objects/addressed.ts';
import { buildWorkload } from './objects/workload.ts';

export type RevisionPlan = {
  wish: Wish;
  /** The kind of work that its pods pin to it. Unset: none. */
  pin?: Pin;
  /** Bounds of the calls of models. */
  budgets?: BudgetsSpec | undefined;
  secretName: string | undefined;
  address: DatabaseAddress | undefined;
  /** Connections of the live database, where they are known; else those that the spec asks for. */
  connections?: number | undefined;
  /** The deployment's id as REST shows it: its uid, unless its spec names one. */
  deploymentId?: string | undefined;
  /** True if an outsider asks for a number of queue pods by the deployment's resource. */
  isQueueGiven?: boolean;
  /** The image, if it was found in this pass. */
  image?: string | undefined;
  live?: { api?: KubeObject | undefined; queue?: KubeObject | undefined };
};

/** Returns the workloads that a revision should have, the api before the queue. */
export function buildRevisionWorkloads(
  revision: RevisionResource,
  plan: RevisionPlan,
  settings: OperatorSettings,
): KubeObject[] {
  const {
    wish,
    pin,
    budgets,
    secretName,
    address,
    live,
    deploymentId = revision.spec.deploymentUid,
    image = findRevisionImage(revision),
  } = plan;
  const connections = plan.connections ?? resolveConnections(revision, settings).max;
  // Without an address nothing has been started, or the deployment is about to report it again.
  if (address === undefined) return [];
  return (['api', 'queue'] as const).flatMap((component) => {
    const wanted = wish[component];
    if (wanted === undefined) return [];
    const limit = isOurs(component, plan, settings)
      ? wanted
      : resolveMaxReplicas(revision, component, settings);
    const least =
      component === 'api' && wish.down !== true
        ? resolveWantedReplicas(revision, component, settings)
        : wanted;
    const size = decideSize(live?.[component], { wanted, least, limit });
    const made = addTemplateHash(
      buildWorkload(
        revision,
        { component, ...size, pin, budgets, secretName, address, connections, deploymentId, image },
        settings,
      ),
    );
    const seen = revision.status?.[component === 'api' ? 'apiTemplate' : 'queueTemplate'];
    return [
      isEnded(revision) ? setAddress(settleTemplate(made, live?.[component], seen), address) : made,
    ];
  });
}

/** Returns true if nobody else may change the size: of a workload taken down, or of a queue that follows something. */
const isOurs = (
  component: WorkloadComponent,
  { wish, isQueueGiven }: RevisionPlan,
  { gateway }: OperatorSettings,
): boolean =>
  wish.down === true || (component === 'queue' && (gateway !== undefined || isQueueGiven === true));

/**
 * Returns true if somebody has changed the size within its range and so owns the field. The wanted size is still
 * applied, because a field that its only owner gives up falls back to 1.
 */
const isScaledByOthers = (
  live: KubeObject | undefined,
  { wanted, limit }: { wanted: number; limit: number },
): boolean => live !== undefined && getReplicas(live) > wanted && getReplicas(live) <= limit;

/**
 * Returns the size to apply. A workload that began with more than its least keeps that number in the applied object
 * until somebody else changes it, because until then nobody else owns the field.
 */
function decideSize(
  live: KubeObject | undefined,
  range: { wanted: number; least: number; limit: number },
): { replicas: number | undefined; beganWith?: number } {
  const { wanted, least } = range;
  if (live === undefined || !isScaledByOthers(live, range))
    return { replicas: wanted, ...(wanted > least && { beganWith: wanted }) };
  const beganWith = Number(live.metadata.annotations?.[BEGAN_WITH]);
  return beganWith === getReplicas(live)
    ? { replicas: beganWith, beganWith }
    : { replicas: undefined };
}

/**
 * Returns the workload with the database at this address, which is the only thing that changes in its pods. With
 * another address they are replaced in turn.
 */
function setAddress(made: KubeObject, address: DatabaseAddress): KubeObject {
  const { template, ...spec } = made.spec as {
    template: {
      metadata?: { annotations?: Record<string, string> };
      spec: Parameters<typeof replaceDatabaseAddress>[0];
    };
  };
  const { annotations } = template.metadata ?? {};
  const stamp = buildAddressStamp(address);
  if (annotations?.[DATABASE_ADDRESS] === stamp) return made;
  const metadata = {
    ...template.metadata,
    annotations: { ...annotations, [DATABASE_ADDRESS]: stamp },
  };
  return {
    ...made,
    spec: {
      ...spec,
      template: { ...template, metadata, spec: replaceDatabaseAddress(template.spec, address) },
    },
  };
}
