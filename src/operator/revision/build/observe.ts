import { kinds, type KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../../schema/custom-resources.ts';
import { COMPONENT, DEPLOYMENT, INTERRUPT } from '../../../schema/labels.ts';
import { labelValue, names } from '../../../schema/names.ts';
import type { OperatorDeps } from '../../family/deps.ts';
import { statusOfPod } from '../../pods/diagnose.ts';
import { imageOf } from '../../family/revisions.ts';

/** What exists of a revision's build. Jobs are not watched, because their pods are and show nearly everything. */
export type BuildWorld = {
  /** The newest pod that no drained node took away. */
  pod: KubeObject | undefined;
  /** The Job, which is read only while there is no pod. */
  job: KubeObject | undefined;
};

type BuildInputs = { deployment: DeploymentResource | undefined; pods: KubeObject[]; signal: AbortSignal };

/**
 * Observes a build. Returns undefined if nothing is to be built: there is an image or no builder, or the revision may
 * not go on.
 */
export async function observeBuild(
  { kube, settings }: Pick<OperatorDeps, 'kube' | 'settings'>,
  revision: RevisionResource,
  { deployment, pods, signal }: BuildInputs,
): Promise<BuildWorld | undefined> {
  const { metadata, spec } = revision;
  const mayGo = deployment !== undefined && deployment.spec.hibernate !== true && metadata.annotations?.[INTERRUPT] === undefined;
  if (settings.builder === undefined || imageOf(revision) !== undefined || !mayGo) return undefined;
  const pod = newestOf(pods);
  if (pod !== undefined) return { pod, job: undefined };
  const { namespace } = metadata;
  const labelSelector = `${DEPLOYMENT}=${labelValue(spec.deployment)},${COMPONENT}=build`;
  const jobs = await kube.all(kinds.job, { ...(namespace !== undefined && { namespace }), labelSelector }, signal);
  return { pod, job: jobs.find((job) => job.metadata.name === names.buildJob(metadata.name)) };
}

const isDisrupted = (pod: KubeObject): boolean =>
  statusOfPod(pod).conditions?.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True') === true;

const newestOf = (pods: KubeObject[]): KubeObject | undefined =>
  pods
    .filter((pod) => pod.metadata.labels?.[COMPONENT] === 'build' && !isDisrupted(pod))
    .toSorted((a, b) => Date.parse(b.metadata.creationTimestamp ?? '') - Date.parse(a.metadata.creationTimestamp ?? ''))[0];
