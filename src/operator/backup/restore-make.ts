import { kinds, type KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { COMPONENT, DEPLOYMENT } from '../../schema/platform/labels.ts';
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
};

/** Makes the Job of a restore, or looks how it ended. Undefined while it is under way. */
export async function followRestore(deps: PartDeps, restoring: Restoring): Promise<RestoreDone | RestoreFailure | undefined> {
  const { deployment, plan, secret, now, signal } = restoring;
  const pod = restoring.pods.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (pod === undefined) {
    const isMade = await deps.writer.create(restoreJob(deployment, { plan, secret }, deps.settings), signal);
    return isMade ? undefined : await withoutPod(deps, deployment, signal);
  }
  const result = restoreResult(pod, now);
  const endedAt = restoreEndedAt(pod);
  const isOld = result !== undefined && 'reason' in result && endedAt !== undefined && now.getTime() - endedAt.getTime() >= AGAIN;
  if (isOld) await forgetRestore(deps, deployment, signal);
  return result;
}

/** Removes the Job of a restore with its pod. */
export async function forgetRestore(
  { kube }: Pick<PartDeps, 'kube'>,
  { metadata }: DeploymentResource,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = metadata;
  await kube.delete(kinds.job, { namespace, name: names.restore(name) }, { propagation: 'Background' }, signal);
}

/** A Job whose pod is gone has failed, or has none yet. */
async function withoutPod(deps: PartDeps, deployment: DeploymentResource, signal: AbortSignal): Promise<RestoreFailure | undefined> {
  const { namespace, name } = deployment.metadata;
  const labelSelector = `${DEPLOYMENT}=${labelValue(name)},${COMPONENT}=restore`;
  const jobs = await deps.kube.all(kinds.job, { ...(namespace !== undefined && { namespace }), labelSelector }, signal);
  const job = jobs.find(({ metadata }) => metadata.name === names.restore(name));
  const words = job && failureOfJob(job, deps.settings.backups.deadlineMinutes);
  if (words === undefined) return undefined;
  await forgetRestore(deps, deployment, signal);
  return { reason: 'RestoreFailed', message: words };
}
