import type { Builder } from '../../../config/platform/builder.ts';
import type { OperatorSettings } from '../../../config/platform/operator.ts';
import { buildObjectKey } from '../../../kube/cache.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../../schema/platform/resources/custom-resources.ts';
import { COMPONENT, INTERRUPT, REVISION_UID } from '../../../schema/platform/objects/labels.ts';
import { names } from '../../../schema/names.ts';
import { BY_BUILD, BY_REVISION, type Caches } from '../../view/caches.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import { buildSource, buildTurnNames, type BuildSource } from '../../view/integrations.ts';
import { findRevisionImage } from '../../rollout/revisions.ts';
import { getPodStatus } from '../../pods/diagnose.ts';
import { findJob, readHindrance } from '../../pods/follow-job.ts';
import type { JobHindrance } from '../../pods/job-state.ts';
import type { RepeatedImage } from '../image.ts';
import { chooseBuildPlace, type BuildPlace } from './place.ts';
import { findPlaceInLine, type QueuedBuild } from './turn.ts';

/** The objects of a revision's build. Jobs are not watched, because their pods are and show nearly everything. */
export type BuildWorld = {
  /** The newest pod that no drained node took away. */
  pod: KubeObject | undefined;
  /** The Job, which is read only while there is no pod. */
  job: KubeObject | undefined;
  /** Why the Job still has no pod. */
  hindrance?: JobHindrance | undefined;
  /** Of a build that has no Job yet: where it is built from, and its place in the line of builds. */
  source?: BuildSource;
  place?: number;
};

/** A revision that is built, and all that a decision about its build reads. `repeated`: the image of a rollback. */
export type BuildSituation = {
  revision: RevisionResource;
  world: { build: BuildWorld | undefined; repeated: RepeatedImage | undefined; now: Date };
  settings: OperatorSettings;
};

/**
 * Observes a build. Returns undefined if nothing is to be built: there is an image or no builder, or the revision may
 * not go on.
 */
export async function observeBuild(
  { kube, settings, caches, buildTurns: { latest } }: OperatorDeps,
  revision: RevisionResource,
  {
    deployment,
    pods,
    now,
    signal,
  }: {
    deployment: DeploymentResource | undefined;
    pods: KubeObject[];
    now: Date;
    signal: AbortSignal;
  },
): Promise<BuildWorld | undefined> {
  const { builder } = settings;
  if (builder === undefined || findRevisionImage(revision) !== undefined || !mayBuild(deployment))
    return undefined;
  const place = chooseBuildPlace(revision, builder);
  const pod = findNewestPod(pods.filter(isOf(revision, place)));
  // Of an interrupted build the pod has yet to tell its log.
  if (pod !== undefined || revision.metadata.annotations?.[INTERRUPT] !== undefined)
    return { pod, job: undefined };
  const name = names.stagedBuild(revision.metadata.name, revision.metadata.uid ?? '');
  const job = await findJob(kube, { namespace: place.namespace, name }, signal);
  if (job !== undefined)
    return { pod, job, hindrance: await readHindrance(kube, job, { now, signal }) };
  return {
    pod,
    job,
    source: buildSource(caches, settings, revision),
    place: findPlace(revision, caches, settings, builder, latest),
  };
}

/** Returns true if the builds of a deployment go on. One that never begins would hold a place in the line. */
const mayBuild = (deployment: DeploymentResource | undefined): boolean =>
  deployment !== undefined && deployment.spec.hibernate !== true;

/**
 * Another revision, deleted since, may have had the same name. A pod that is removed before its end is killed, which
 * says nothing of the build: its Job gives it up, or a new one takes its place.
 */
const isOf =
  ({ metadata }: RevisionResource, { namespace }: BuildPlace) =>
  (pod: KubeObject): boolean =>
    pod.metadata.labels?.[REVISION_UID] === metadata.uid &&
    pod.metadata.namespace === namespace &&
    (pod.metadata.deletionTimestamp === undefined || getPodStatus(pod).phase === 'Succeeded');

function findPlace(
  revision: RevisionResource,
  caches: Caches,
  settings: OperatorSettings,
  builder: Builder,
  latest: ReadonlyMap<string, number>,
): number {
  const nameOf = buildTurnNames(caches, settings);
  const toQueuedBuild = (one: RevisionResource): QueuedBuild => ({
    key: buildObjectKey(one.metadata),
    tenant: nameOf(one.metadata.namespace),
    since: one.metadata.creationTimestamp ?? '',
  });
  const own = toQueuedBuild(revision);
  const listBuilds = (state: string, counts: (one: RevisionResource) => boolean): QueuedBuild[] =>
    caches.revisions.listByIndex(BY_BUILD, state).filter(counts).map(toQueuedBuild);
  // A status may be written by others. Pods of builds are the operator's own.
  const running = listBuilds('building', (one) =>
    caches.pods
      .listByIndex(BY_REVISION, buildObjectKey(one.metadata))
      .some(isOf(one, chooseBuildPlace(one, builder))),
  );
  const waiting = listBuilds('waiting', (one) =>
    mayBuild(
      caches.deployments.get(buildObjectKey({ ...one.metadata, name: one.spec.deployment })),
    ),
  );
  const others = running.filter(({ key }) => key !== own.key);
  return findPlaceInLine(own, {
    waiting,
    running: others,
    each: builder.parallel,
    all: builder.parallelInAll,
    latest,
  });
}

const isDisrupted = (pod: KubeObject): boolean =>
  getPodStatus(pod).conditions?.some(
    ({ type, status }) => type === 'DisruptionTarget' && status === 'True',
  ) === true;

const findNewestPod = (pods: KubeObject[]): KubeObject | undefined =>
  pods
    .filter((pod) => pod.metadata.labels?.[COMPONENT] === 'build' && !isDisrupted(pod))
    .toSorted(
      (a, b) =>
        Date.parse(b.metadata.creationTimestamp ?? '') -
        Date.parse(a.metadata.creationTimestamp ?? ''),
    )[0];
