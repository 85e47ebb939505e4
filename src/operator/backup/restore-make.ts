import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { REPLACES } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import type { RestoreDone, RestoreFailure } from '../../schema/wire/restore-message.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { readPodlessJobState } from '../pods/follow-job.ts';
import { deriveJobState, type JobHindrance, type JobState } from '../pods/job-state.ts';
import { describeJobTimeout } from './result.ts';
import { restoreJob } from './restore-job.ts';
import type { RestorePlan } from './restore-plan.ts';
import { RESTORE_CONTAINERS, restoreEndedAt, restoreResult } from './restore-result.ts';

/** Milliseconds before a restore that failed is tried again. */
const AGAIN = 120_000;

type Restoring = {
  deployment: DeploymentResource;
  plan: Extract<RestorePlan, { state: 'ready' }>;
  pods: readonly KubeObject[];
  /** The Secret with the address of the database. */
  secret: string;
  now: Date;
  signal: AbortSignal;
  /** The request, if the deployment lives. */
  requestedAt?: string;
};

/** The end of a restore, or why its Job has no pod. Undefined while it is under way. */
export type RestoreProgress =
  | RestoreDone
  | RestoreFailure
  | { hindrance: JobHindrance }
  | undefined;

/** Makes the Job of a restore, or looks how it ended. */
export async function followRestore(
  deps: OperatorDeps,
  restoring: Restoring,
): Promise<RestoreProgress> {
  const { deployment, plan, secret, now, signal, requestedAt } = restoring;
  const pod = findRestorePod(restoring.pods, requestedAt);
  if (pod === undefined)
    return makeOrFollowRestore(
      deps,
      restoreJob(deployment, { plan, secret, requestedAt }, deps.settings),
      restoring,
    );
  const result = restoreResult(
    deriveJobState(pod, RESTORE_CONTAINERS, { now, work: 'the restore' }),
  );
  if (result !== undefined && 'reason' in result)
    await removeFailedRestore(deps, pod, { deployment, now, signal });
  return result;
}

/** Removes the Jobs of a restore that failed some time ago, so that it is tried again. */
export async function removeFailedRestore(
  deps: OperatorDeps,
  pod: KubeObject,
  { deployment, now, signal }: Pick<Restoring, 'deployment' | 'now' | 'signal'>,
): Promise<void> {
  const endedAt = restoreEndedAt(pod);
  if (endedAt !== undefined && now.getTime() - endedAt.getTime() >= AGAIN)
    await removeRestoreJobs(deps, deployment, signal);
}

/** Returns the pod of a restore: that of a request, or the one with which a deployment begins. */
export const findRestorePod = (
  pods: readonly KubeObject[],
  request: string | undefined,
): KubeObject | undefined =>
  pods.find(
    ({ metadata }) =>
      metadata.deletionTimestamp === undefined && metadata.annotations?.[REPLACES] === request,
  );

/** Removes the Jobs of a restore with their pods. */
export async function removeRestoreJobs(
  { kube }: OperatorDeps,
  { metadata }: DeploymentResource,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = metadata;
  for (const job of [names.restore(name), names.restoreCheck(name)])
    await kube.delete(kinds.job, { namespace, name: job }, { propagation: 'Background' }, signal);
}

/** Makes the Job of a restore, or looks why it has no pod. The Jobs of one that failed are removed. */
export async function makeOrFollowRestore(
  deps: OperatorDeps,
  wanted: KubeObject,
  { deployment, now, signal }: Pick<Restoring, 'deployment' | 'now' | 'signal'>,
): Promise<RestoreProgress> {
  const state = await makeOrLook(deps, wanted, { now, signal });
  if (state.is === 'hindered') return { hindrance: state };
  const result = restoreResult(state);
  if (result !== undefined) await removeRestoreJobs(deps, deployment, signal);
  return result;
}

/** Makes a Job. If it is there and has no pod, it has failed, or has none yet. */
export async function makeOrLook(
  { kube, writer, settings }: OperatorDeps,
  wanted: KubeObject,
  { now, signal }: { now: Date; signal: AbortSignal },
): Promise<JobState> {
  if (await writer.create(wanted, signal)) return { is: 'under-way' };
  const state = await readPodlessJobState(kube, wanted.metadata, {
    deadline: describeJobTimeout(settings.backups.deadlineMinutes),
    now,
    signal,
  });
  return state.is === 'absent' ? { is: 'under-way' } : state;
}
