import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { INTERRUPT } from '../../schema/platform/objects/labels.ts';
import { isReplacing } from '../../schema/platform/backup/replacement.ts';
import { hashTemplate } from '../../schema/platform/resources/revision-of.ts';
import { hashJson } from '../../schema/canonical-json.ts';
import { isPodReady } from '../pods/diagnose.ts';
import { isRolledOut, getReplicas } from '../pods/workload-state.ts';
import { resolveConnections } from './connections.ts';
import { hasStarted, findRevisionImage, isEnded, decideRolloutOrder } from './revisions.ts';
import { resolveMaxReplicas, resolveWantedReplicas, type WorkloadComponent } from './replicas.ts';

/** The workloads of a revision, and its api pods, as the caches have them. */
export type RevisionPods = {
  api: KubeObject | undefined;
  queue: KubeObject | undefined;
  apiPods: KubeObject[];
};

/** Returns true if the workload has a size within its range and all its pods are ready. */
export function isWorkloadUp(
  revision: RevisionResource,
  component: WorkloadComponent,
  pods: RevisionPods,
  settings: OperatorSettings,
): boolean {
  const workload = pods[component];
  const replicas = getReplicas(workload);
  const [least, most] = [
    resolveWantedReplicas(revision, component, settings),
    resolveMaxReplicas(revision, component, settings),
  ];
  return isRolledOut(workload) && replicas >= least && replicas <= most;
}

/**
 * Returns true if one of its pods was seen ready. The watch of workloads may be ahead of that of pods, and only pods
 * say what they run.
 */
const isSeen = ({ api, apiPods }: RevisionPods): boolean =>
  getReplicas(api) === 0 || apiPods.some(isPodReady);

/** Returns true if the api pods can take requests and were seen. */
export const isApiUp = (
  revision: RevisionResource,
  pods: RevisionPods,
  settings: OperatorSettings,
): boolean => isWorkloadUp(revision, 'api', pods, settings) && isSeen(pods);

/**
 * Returns true if the revision has the spec that it was made with. One seen for the first time must match its own hash,
 * so that nobody can copy it with other content.
 */
export function isAsMade(revision: RevisionResource): boolean {
  const known = revision.status?.specHash;
  return known === undefined
    ? revision.spec.hash === hashTemplate(revision)
    : known === hashJson(revision.spec);
}

/** Returns true if its status names the Secret that its pods get, or if it asks for none. */
const hasEnvironment = ({ spec, status }: RevisionResource): boolean =>
  spec.template.secretName === undefined || status?.secretName !== undefined;

const hasImage = (revision: RevisionResource): boolean =>
  revision.spec.source !== 'git' || findRevisionImage(revision) !== undefined;

/** Returns true if its rollout has begun and its status has all that must be known before its pods count. */
export const isRollingOut = (revision: RevisionResource): boolean =>
  hasStarted(revision) && !isEnded(revision) && hasImage(revision) && hasEnvironment(revision);

export type RolloutView = {
  deployment: DeploymentResource;
  /** All revisions of the deployment, this one among them. */
  siblings: RevisionResource[];
  pods: RevisionPods;
  isDatabaseReady: boolean;
  /** True if the Service sends clients to it. */
  isServing: boolean;
};

const mayServe = (deployment: DeploymentResource): boolean =>
  deployment.metadata.deletionTimestamp === undefined &&
  deployment.spec.hibernate !== true &&
  !isReplacing(deployment);

/**
 * Returns true if all pods of a revision are ready, so that the deployment may send it traffic. The reconciles of the
 * deployment and of the revision both see this for themselves, so that neither has to tell the other by a write.
 */
export function isComplete(
  revision: RevisionResource,
  view: RolloutView,
  settings: OperatorSettings,
): boolean {
  const { deployment, siblings, pods, isDatabaseReady, isServing } = view;
  return (
    isRollingOut(revision) &&
    isDatabaseReady &&
    isApiUp(revision, pods, settings) &&
    isWorkloadUp(revision, 'queue', pods, settings) &&
    mayServe(deployment) &&
    (revision.metadata.annotations?.[INTERRUPT] === undefined || isServing) &&
    decideRolloutOrder(revision, siblings) === 'go' &&
    resolveConnections(revision, settings).problem === undefined &&
    isAsMade(revision)
  );
}
