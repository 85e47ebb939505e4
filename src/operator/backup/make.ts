import { kinds, type KubeObject } from '../../kube/kube.ts';
import type { BackupResource, DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { COMPONENT, DEPLOYMENT } from '../../schema/platform/labels.ts';
import { labelValue, names } from '../../schema/names.ts';
import { API_VERSION } from '../../schema/platform/custom-resources.ts';
import { backupName } from '../../schema/wire/backup-message.ts';
import { keyOf } from '../../kube/cache.ts';
import { dateTimeOf } from '../../schema/types.ts';
import { conditionsOf } from '../kernel/conditions.ts';
import { settled, stalled } from '../kernel/outcome.ts';
import { ownedMetadata } from '../objects/metadata.ts';
import type { PartDeps } from '../reports/part-report.ts';
import { backupJob, backupOrder, type BackupGiven } from './job.ts';
import { hasTurn } from './open.ts';
import { keepOf, type BackupPlan } from './plan.ts';
import { failedBackup, failureOfJob, isBackupLost, podOfBackup, resultOf, tooLong, type BackupStatus } from './result.ts';

type Making = BackupGiven & {
  deployment: DeploymentResource;
  plan: Pick<BackupPlan, 'spec' | 'requestedAt'>;
  pods: readonly KubeObject[];
  /** True if the database takes connections. One that sleeps is woken once it is the deployment's turn. */
  isUp: boolean;
  now: Date;
  signal: AbortSignal;
};

/**
 * Begins a backup if it is its turn, and makes its Job if the database is up. Returns false if others of the tenant
 * have all turns.
 */
export async function beginBackup(deps: PartDeps, making: Making): Promise<boolean> {
  const { deployment, plan, now, signal } = making;
  const backup = recordOf(deployment, plan, now);
  const isBegun = await deps.backupTurns.run(async () => {
    return hasTurn(deps, deployment, now) && deps.writer.create(backup, signal);
  });
  if (isBegun && making.isUp) await createJob(deps, backup, making);
  return isBegun;
}

function recordOf(deployment: DeploymentResource, { spec, requestedAt }: Making['plan'], now: Date): BackupResource {
  const backup = backupName(now);
  const { name, uid = '' } = deployment.metadata;
  return {
    apiVersion: API_VERSION,
    kind: 'Backup',
    metadata: ownedMetadata(deployment, 'backup', names.backup(name, backup)),
    spec: {
      deployment: name,
      deploymentUid: uid,
      backup,
      target: spec.target,
      method: spec.method ?? 'dump',
      ...(requestedAt !== undefined && { requestedAt }),
    },
  };
}

async function createJob(deps: PartDeps, backup: BackupResource, making: Making): Promise<boolean> {
  const order = backupOrder(making.deployment, backup, { ...making, settings: deps.settings });
  if (order === undefined) return false;
  return deps.writer.create(backupJob(making.deployment, { backup, order, secret: making.secret }, deps.settings), making.signal);
}

/** Looks after the backup that is under way. Returns how it ended, once it has. */
export async function followBackup(deps: PartDeps, backup: BackupResource, making: Making): Promise<BackupStatus | undefined> {
  const { plan, pods, now, signal } = making;
  const pod = podOfBackup(pods, backup);
  const result = pod === undefined ? await withoutPod(deps, backup, making) : resultOf(pod, keepOf(plan.spec), now);
  const late = isBackupLost(backup, now, deps.settings.backups.deadlineMinutes)
    ? failedBackup(backup.spec.method === 'dump' ? 'DumpFailed' : 'CopyFailed', tooLong(deps.settings.backups.deadlineMinutes))
    : undefined;
  const end = result ?? late;
  if (end === undefined) return undefined;
  await endBackup(deps, backup, { end, now, signal });
  return end;
}

/** Writes how a backup ended, and removes its Job. */
export async function endBackup(
  deps: PartDeps,
  backup: BackupResource,
  { end, now, signal }: { end: BackupStatus } & Pick<Making, 'now' | 'signal'>,
): Promise<void> {
  const { namespace, name } = backup.metadata;
  const at = { generation: backup.metadata.generation ?? 1, now: dateTimeOf(now) };
  const { phase, reason = 'DumpFailed', message = '' } = end;
  const outcome = phase === 'Succeeded' ? settled('It is complete.', 'Complete') : stalled(reason, message);
  const status = { ...end, conditions: conditionsOf({ outcome, statements: [] }, [], at), observedGeneration: at.generation };
  await deps.caches.backups.write(keyOf(backup.metadata), () => deps.kube.patchStatus(kinds.backup, { namespace, name }, status, signal));
  await deps.kube.delete(kinds.job, { namespace, name }, { propagation: 'Background' }, signal);
}

/** Makes the Job that a crash has prevented. If there is one without a pod, it may have failed. */
async function withoutPod(deps: PartDeps, backup: BackupResource, making: Making): Promise<BackupStatus | undefined> {
  const { deployment, signal } = making;
  const { namespace, name } = backup.metadata;
  const labelSelector = `${DEPLOYMENT}=${labelValue(deployment.metadata.name)},${COMPONENT}=backup`;
  const jobs = await deps.kube.all(kinds.job, { ...(namespace !== undefined && { namespace }), labelSelector }, signal);
  const job = jobs.find(({ metadata }) => metadata.name === name);
  if (job === undefined) {
    if (!making.isUp) return undefined;
    const isMade = await createJob(deps, backup, making);
    return isMade ? undefined : failedBackup('TargetMissing', `There is no target ${backup.spec.target} any more.`);
  }
  const words = failureOfJob(job, deps.settings.backups.deadlineMinutes);
  return words === undefined ? undefined : failedBackup('DumpFailed', words);
}
