import { kinds, type KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { COMPONENT, DEPLOYMENT, REPLACES } from '../../schema/platform/labels.ts';
import { labelValue, names } from '../../schema/names.ts';
import type { RestoreDone, RestoreFailure } from '../../schema/wire/restore-message.ts';
import type { PartDeps } from '../reports/part-report.ts';
import { failureOfJob } from './result.ts';
import { restoreJob } from './restore-job.ts';
import type { RestorePlan } from './restore-plan.ts';
import { restoreEndedAt, restoreResult } from './restore-result.ts';

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

/** Makes the Job of a restore, or looks how it ended. Undefined while it is under way. */
export async function followRestore(deps: PartDeps, restoring: Restoring): Promise<RestoreDone | RestoreFailure | undefined> {
  const { deployment, plan, secret, now, signal, requestedAt } = restoring;
  const pod = podFor(restoring.pods, requestedAt);
  if (pod === undefined) return makeOrLook(deps, restoreJob(deployment, { plan, secret, requestedAt }, deps.settings), restoring);
  const result = restoreResult(pod, now);
  if (result !== undefined && 'reason' in result) await forgetOld(deps, pod, { deployment, now, signal });
  return result;
}

/** Removes the Jobs of a restore that failed some time ago, so that it is tried again. */
export async function forgetOld(
  deps: Pick<PartDeps, 'kube'>,
  pod: KubeObject,
  { deployment, now, signal }: Pick<Restoring, 'deployment' | 'now' | 'signal'>,
): Promise<void> {
  const endedAt = restoreEndedAt(pod);
  if (endedAt !== undefined && now.getTime() - endedAt.getTime() >= AGAIN) await forgetRestore(deps, deployment, signal);
}

/** Returns the pod of a restore: that of a request, or the one with which a deployment begins. */
export const podFor = (pods: readonly KubeObject[], request: string | undefined): KubeObject | undefined =>
  pods.find(({ metadata }) => metadata.deletionTimestamp === undefined && metadata.annotations?.[REPLACES] === request);

/** Removes the Jobs of a restore with their pods. */
export async function forgetRestore(
  { kube }: Pick<PartDeps, 'kube'>,
  { metadata }: DeploymentResource,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = metadata;
  for (const job of [names.restore(name), names.restoreCheck(name)])
    await kube.delete(kinds.job, { namespace, name: job }, { propagation: 'Background' }, signal);
}

/** Makes a Job. If it is there and has no pod, it has failed, or has none yet. */
export async function makeOrLook(
  deps: PartDeps,
  made: KubeObject,
  { deployment, signal }: Pick<Restoring, 'deployment' | 'signal'>,
): Promise<RestoreFailure | undefined> {
  if (await deps.writer.create(made, signal)) return undefined;
  const { namespace, name } = deployment.metadata;
  const labelSelector = `${DEPLOYMENT}=${labelValue(name)},${COMPONENT}=restore`;
  const jobs = await deps.kube.all(kinds.job, { ...(namespace !== undefined && { namespace }), labelSelector }, signal);
  const job = jobs.find(({ metadata }) => metadata.name === made.metadata.name);
  const words = job && failureOfJob(job, deps.settings.backups.deadlineMinutes);
  if (words === undefined) return undefined;
  await forgetRestore(deps, deployment, signal);
  return { reason: 'RestoreFailed', message: words };
}
