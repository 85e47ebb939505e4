import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { INTERRUPT } from '../../schema/labels.ts';
import { hashOf, templateHash } from '../../schema/revision-of.ts';
import { isPodReady } from '../pods/diagnose.ts';
import { isRolledOut, replicasOf } from '../pods/workload-state.ts';
import { connectionsAsked } from './connections.ts';
import { hasStarted, imageOf, isEnded, rolloutOrderOf } from './revisions.ts';
import { replicasAllowed, replicasWanted, type WorkloadComponent } from './replicas.ts';

/** The workloads of a revision, and its api pods, as the caches have them. */
export type RevisionPods = { api: KubeObject | undefined; queue: KubeObject | undefined; apiPods: KubeObject[] };

type Sizes = Pick<OperatorSettings, 'profile'>;

/** The workload has a size within its range, and all of it is there. */
export function isWorkloadUp(revision: RevisionResource, component: WorkloadComponent, pods: RevisionPods, settings: Sizes): boolean {
  const workload = pods[component];
  const replicas = replicasOf(workload);
  const [least, most] = [replicasWanted(revision, component, settings), replicasAllowed(revision, component, settings)];
  return isRolledOut(workload) && replicas >= least && replicas <= most;
}

/**
 * One of its pods was seen ready: the watch of workloads may be ahead of that of pods, and only pods say what they run.
 */
const isSeen = ({ api, apiPods }: RevisionPods): boolean => replicasOf(api) === 0 || apiPods.some(isPodReady);

/** The api pods can take requests, and were seen. */
export const isApiUp = (revision: RevisionResource, pods: RevisionPods, settings: Sizes): boolean =>
  isWorkloadUp(revision, 'api', pods, settings) && isSeen(pods);

/**
 * The revision has the spec that it was made with. One seen for the first time must be what its own hash says, not a
 * copy that somebody made with other content.
 */
export function isAsMade(revision: RevisionResource): boolean {
  const known = revision.status?.specHash;
  return known === undefined ? revision.spec.hash === templateHash(revision) : known === hashOf(revision.spec);
}

/** Its status names the Secret that its pods get, or it asks for none. */
const hasEnvironment = ({ spec, status }: RevisionResource): boolean =>
  spec.template.secretName === undefined || status?.secretName !== undefined;

const hasImage = (revision: RevisionResource): boolean => revision.spec.source !== 'git' || imageOf(revision) !== undefined;

/** Its rollout has begun, and its status tells all that has to be known before its pods count. */
export const isRollingOut = (revision: RevisionResource): boolean =>
  hasStarted(revision) && !isEnded(revision) && hasImage(revision) && hasEnvironment(revision);

export type RolloutView = {
  deployment: DeploymentResource;
  /** All revisions of the deployment, this one among them. */
  siblings: RevisionResource[];
  pods: RevisionPods;
  isDatabaseReady: boolean;
  /** The Service sends clients to it. */
  isServing: boolean;
};

/**
 * All pods of a revision are there, so that the deployment may send it traffic. The reconcile of the deployment and
 * that of the revision both see it for themselves, so that neither has to report it to the other by a write.
 */
export function isComplete(revision: RevisionResource, view: RolloutView, settings: Sizes): boolean {
  const { deployment, siblings, pods, isDatabaseReady, isServing } = view;
  return (
    isRollingOut(revision) &&
    isDatabaseReady &&
    isApiUp(revision, pods, settings) &&
    isWorkloadUp(revision, 'queue', pods, settings) &&
    deployment.metadata.deletionTimestamp === undefined &&
    deployment.spec.hibernate !== true &&
    (revision.metadata.annotations?.[INTERRUPT] === undefined || isServing) &&
    rolloutOrderOf(revision, siblings) === 'go' &&
    connectionsAsked(revision, settings).problem === undefined &&
    isAsMade(revision)
  );
}
