import { buildObjectKey } from '../../kube/cache.ts';
import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { names } from '../../schema/names.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import type { VerifyDone, VerifyFailure } from '../../schema/wire/restore-message.ts';
import { deriveJobState, type JobState } from '../pods/job-state.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { hasTurn } from './open.ts';
import { findBackupPod, describeJobTimeout } from './result.ts';
import { makeOrLook } from './restore-make.ts';
import { RESTORE_CONTAINERS, verifyResult } from './restore-result.ts';
import { verifyJob } from './verify-job.ts';
import { isVerificationLost } from './verify-plan.ts';

type Verifying = {
  deployment: DeploymentResource;
  pods: readonly KubeObject[];
  tenant: string;
  now: Date;
  signal: AbortSignal;
};

/** Begins a verification if it is its turn: backups and verifications share the turns. */
export async function beginVerification(
  deps: OperatorDeps,
  backup: BackupResource,
  verifying: Verifying,
): Promise<boolean> {
  const { deployment, now, signal } = verifying;
  return deps.backupTurns.run(async () => {
    if (!hasTurn(deps, deployment, now)) return false;
    await note(deps, backup, { verifying: formatKubernetesTime(now) }, signal);
    return true;
  });
}

/** Looks after the verification under way. */
export async function followVerification(
  deps: OperatorDeps,
  backup: BackupResource,
  verifying: Verifying,
): Promise<void> {
  const { deployment, pods, now, signal } = verifying;
  const pod = findBackupPod(
    pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    backup,
  );
  const { deadlineMinutes } = deps.settings.backups;
  const state =
    pod === undefined
      ? await makeOrFollowJob(deps, backup, verifying)
      : deriveJobState(pod, RESTORE_CONTAINERS, { now, work: 'the verification' });
  const hindrance = 'is' in state && state.is === 'hindered' ? state : undefined;
  const late: VerifyFailure | undefined = isVerificationLost(backup, now, deadlineMinutes)
    ? { reason: 'RestoreFailed', message: describeJobTimeout(deadlineMinutes, hindrance) }
    : undefined;
  const end = ('is' in state ? verifyResult(state) : state) ?? late;
  if (end !== undefined) return endVerification(deps, backup, { deployment, end, now, signal });
  const words =
    hindrance === undefined ? null : `${hindrance.reason}: ${hindrance.message}`.slice(0, 2000);
  if (words !== (backup.status?.verifyWaits ?? null))
    await note(deps, backup, { verifyWaits: words }, signal);
}

/** Writes how a verification ended, and removes its Job. */
export async function endVerification(
  deps: OperatorDeps,
  backup: BackupResource,
  {
    deployment,
    end,
    now,
    signal,
  }: Pick<Verifying, 'deployment' | 'now' | 'signal'> & { end: VerifyDone | VerifyFailure },
): Promise<void> {
  const at = formatKubernetesTime(now);
  const result =
    'reason' in end
      ? { verifyFailed: at, verifyMessage: `${end.reason}: ${end.message}`.slice(0, 2000) }
      : { verified: at, verifyFailed: null, verifyMessage: null };
  await note(deps, backup, { verifying: null, verifyWaits: null, ...result }, signal);
  const { namespace, name } = deployment.metadata;
  await deps.kube.delete(
    kinds.job,
    { namespace, name: names.verify(name) },
    { propagation: 'Background' },
    signal,
  );
}

/** Forgets a verification whose Job is gone, so that others get its turn. */
export const clearVerification = (
  deps: OperatorDeps,
  backup: BackupResource,
  signal: AbortSignal,
): Promise<void> => note(deps, backup, { verifying: null, verifyWaits: null }, signal);

async function note(
  { kube, caches }: OperatorDeps,
  backup: BackupResource,
  status: object,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = backup.metadata;
  await caches.backups.write(buildObjectKey(backup.metadata), () =>
    kube.patchStatus(kinds.backup, { namespace, name }, status, signal),
  );
}

/** Makes the Job. If there is one without a pod, it may have failed. */
async function makeOrFollowJob(
  deps: OperatorDeps,
  backup: BackupResource,
  { deployment, tenant, now, signal }: Verifying,
): Promise<JobState | VerifyFailure> {
  const wanted = verifyJob(deployment, backup, tenant, deps.settings);
  if (wanted === undefined)
    return {
      reason: 'TargetMissing',
      message: `The target ${backup.spec.target} no longer exists.`,
    };
  return makeOrLook(deps, wanted, { now, signal });
}
